"""Judgement by rules, without a model."""
