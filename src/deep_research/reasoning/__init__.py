"""Judgement: the reasoner port and its adapters."""
