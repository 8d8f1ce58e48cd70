"""Two-hop questions: `python -m evals.hotpotqa --data FOLDER`. Both paragraphs must be among the first ten files."""

import argparse
import sys

from evals import retrieval, shared


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the paragraphs that two-hop questions need.")
    shared.add_data_argument(parser)
    folder = shared.require(parser.parse_args(arguments).data, "hotpotqa250")
    figures = retrieval.run(folder, {"": str})[""]
    return shared.report(
        "hotpotqa",
        {"all gold in top 10": figures.all_gold, "recall in top 10": figures.recall, "nDCG@10": figures.ndcg},
    )


if __name__ == "__main__":
    sys.exit(main())
