"""What is kept between runs: answers of engines, pages and plans, so that nobody is asked the same thing twice."""
