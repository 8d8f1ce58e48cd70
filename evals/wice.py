"""WiCE claims without a model: `python -m evals.wice --data FOLDER`.

Each claim of an encyclopedia is held against the whole page it cites; supported is told from partly and not supported.
"""

import argparse
import sys

from evals import claims, shared

FLOOR = 0.63


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tell supported WiCE claims from others, without a model.")
    shared.add_data_argument(parser)
    shared.add_sample_argument(parser)
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "wice_dev")
    found = [
        claims.Claim(line["claim"], line["evidence"], line["label"], line["label"] == "supported", line["meta"]["id"])
        for line in shared.read_json_lines(folder / "claims.jsonl")
    ]
    return claims.run(shared.sample_name("wice", given.every), shared.sample(found, given.every), floor=FLOOR)


if __name__ == "__main__":
    sys.exit(main())
