"""A ranker of answers with learned weights, not yet a part of the package: candidates, their features, and likeness.

`tools/train_answers.py` trains it; `--leave-out` shows how well it ranks the candidates of folders it has not seen.
"""
