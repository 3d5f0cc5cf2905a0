"""Cardinal as one of the queues that hardbyte/postgresql-job-queue-benchmarking compares, by its protocol.

A job is a signed delivery about a person's comment. It is enqueued once the real web server has answered 202,
and completed once the comment is an event in the log.
Source: github.com/hardbyte/postgresql-job-queue-benchmarking, CONTRIBUTING_ADAPTERS.md.
"""
