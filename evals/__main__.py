"""All evals in a row: `python -m evals [--data FOLDER]`; a set that is absent is passed over and said."""

import argparse
import importlib
import sys

from evals import answers, contradictions, shared

SETS = {
    "clarify_gate": "clarify_gate",
    "hotpotqa": "hotpotqa250",
    "cmrc": "cmrc2018_zh",
    "reading": "reading",
    "scifact_claims": "scifact_claims_train",
    "wice": "wice_dev",
    "turned": "scifact_claims_train",
    "article_extraction": "article_extraction",
    "wcxb": "wcxb_dev",
    "drbench": "drbench",
    "injection": "hostile",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    shared.add_data_argument(parser)
    data = parser.parse_args().data
    print("answers")
    missed = answers.main([])
    print("\ncontradictions")
    missed += contradictions.main()
    for name, folder in SETS.items():
        print(f"\n{name}")
        if (data / folder).exists():
            missed += importlib.import_module(f"evals.{name}").main(["--data", str(data)])
        else:
            print(f"  skipped: there is no {data / folder}; give the folder of the sets with --data")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
