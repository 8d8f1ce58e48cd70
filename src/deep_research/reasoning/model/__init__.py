"""Judgement by a chat model: prompts out, answers in, each read and repaired."""
