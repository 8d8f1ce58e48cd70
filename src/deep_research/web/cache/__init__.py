"""What is kept between runs: answers of engines, pages and plans, so that nothing is asked for twice."""
