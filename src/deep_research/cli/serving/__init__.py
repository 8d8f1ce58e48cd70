"""Commands that serve others: the server and its workers, their queue, accounts and schedules."""
