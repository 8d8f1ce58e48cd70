"""Two-hop questions: `python -m evals.hotpotqa --data FOLDER`. Both paragraphs must be among the first ten files."""

import argparse
import sys

from evals import retrieval, shared


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the paragraphs that two-hop questions need.")
    shared.add_data_argument(parser)
    shared.add_sample_argument(parser)
    given = parser.parse_args(arguments)
    figures = retrieval.run(shared.require(given.data, "hotpotqa250"), {"": str}, every=given.every)[""]
    return shared.report(
        shared.sample_name("hotpotqa", given.every),
        {"all gold in top 10": figures.all_gold, "recall in top 10": figures.recall, "nDCG@10": figures.ndcg},
    )


if __name__ == "__main__":
    sys.exit(main())
