"""SciFact claims without a model: `python -m evals.scifact_claims --data FOLDER`.

Each claim is held against one abstract; supported is told from contradicted and from not mentioned. Of three labels,
a claim that is not likely counts as contradicted where half its terms are there and the abstract says the contrary.
"""

import argparse
import sys

from deep_research.verify.coverage import Hint
from evals import claims, shared

FLOOR = 0.70
HALF = 0.5


def label_of(hint: Hint) -> str:
    if hint.is_likely:
        return "SUPPORT"
    return "CONTRADICT" if hint.covered >= HALF and hint.is_opposed else "NOT_ENOUGH_INFO"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tell supported SciFact claims from others, without a model.")
    shared.add_data_argument(parser)
    folder = shared.require(parser.parse_args(arguments).data, "scifact_claims_train")
    pairs = [
        claims.Claim(line["claim"], line["sentences"], line["label"], line["label"] == "SUPPORT", line["doc_id"])
        for line in shared.read_json_lines(folder / "pairs.jsonl")
    ]
    return claims.run("scifact_claims", pairs, floor=FLOOR, three_way=label_of)


if __name__ == "__main__":
    sys.exit(main())
