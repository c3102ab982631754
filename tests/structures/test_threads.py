"""Threads change nothing: not the number of jobs, not several callers at once, not a trip through pickle."""

import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import trelliswork as tw

QUESTIONS = {
    "argmax": lambda s: s.argmax(),
    "kbest by A*": lambda s: s.kbest(7, method="astar"),
    "kbest by Viterbi": lambda s: s.kbest(7, method="viterbi"),
    "log_partition": lambda s: s.log_partition(),
    "marginals": lambda s: s.marginals(),
    "edge_marginals": lambda s: s.edge_marginals(),
    "max_marginals": lambda s: s.max_marginals(),
    "forward": lambda s: s.forward(),
    "backward": lambda s: s.backward(),
    "entropy": lambda s: s.entropy(),
    "sample": lambda s: s.sample(11, random_state=3),
    "expected_counts": lambda s: s.expected_counts(),
}
questions = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())


def bits(answer):
    """Every number of an answer as bytes, so that equality means equality to the last bit."""
    if isinstance(answer, (list, tuple)):
        return [bits(part) for part in answer]
    array = np.asarray(answer)
    return array.shape, array.dtype.str, array.tobytes()


def make_batch(n_jobs, wild=False):
    rng = np.random.default_rng(0)
    scale = 400.0 if wild else 1.0
    unary = [rng.normal(scale=scale, size=(n_positions, 9)) for n_positions in [*rng.integers(0, 60, size=90), 700]]
    return tw.ChainBatch(unary, rng.normal(scale=scale, size=(9, 9)), n_jobs=n_jobs)


# The number of jobs.


@pytest.mark.parametrize("n_jobs", [2, 4, -1, None])
@questions
def test_answers_do_not_depend_on_the_number_of_jobs(question, n_jobs):
    assert bits(question(make_batch(n_jobs))) == bits(question(make_batch(1)))


@pytest.mark.parametrize("n_jobs", [2, 4])
@questions
def test_answers_that_need_log_space_do_not_depend_on_the_number_of_jobs(question, n_jobs):
    assert bits(question(make_batch(n_jobs, wild=True))) == bits(question(make_batch(1, wild=True)))


@pytest.mark.parametrize("n_jobs", [2, 4, -1, None])
def test_total_edge_marginals_do_not_depend_on_the_number_of_jobs(n_jobs):
    assert bits(make_batch(n_jobs).total_edge_marginals()) == bits(make_batch(1).total_edge_marginals())


def test_one_job_more_than_there_are_chains_is_harmless():
    batch = tw.ChainBatch([np.zeros((3, 2))], np.zeros((2, 2)), n_jobs=8)
    np.testing.assert_allclose(batch.log_partition(), [3 * np.log(2)], rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_costs_and_constraints_keep_the_number_of_jobs_out_of_the_answers(n_jobs):
    def answer(batch):
        golds = [np.zeros(chain.n_positions, dtype=int) for chain in batch]
        return bits(batch.augmented(golds).constrained(start=[True] * 8 + [False]).marginals())

    assert answer(make_batch(n_jobs)) == answer(make_batch(1))


# Several callers at once.


def chain_of(n_positions, n_labels=8):
    rng = np.random.default_rng(1)
    return tw.Chain(rng.normal(size=(n_positions, n_labels)), rng.normal(size=(n_labels, n_labels)))


@questions
def test_many_threads_may_ask_one_chain_at_once(question):
    chain = chain_of(500)
    expected = bits(question(chain))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: bits(question(chain)), range(24)))
    assert all(answer == expected for answer in answers)


def test_many_threads_may_ask_one_chain_different_questions():
    chain = chain_of(500)
    expected = [bits(question(chain)) for question in QUESTIONS.values()]
    with ThreadPoolExecutor(4) as pool:
        rounds = list(pool.map(lambda question: bits(question(chain)), list(QUESTIONS.values()) * 5))
    assert rounds == expected * 5


def test_many_threads_may_ask_one_batch_at_once():
    batch = make_batch(2)
    expected = bits(batch.marginals())
    with ThreadPoolExecutor(3) as pool:
        assert all(answer == expected for answer in pool.map(lambda _: bits(batch.marginals()), range(12)))


def test_many_threads_may_ask_one_segment_chain_at_once():
    rng = np.random.default_rng(0)
    chain = tw.SegmentChain(rng.normal(size=(200, 5, 4)), rng.normal(size=(4, 4)))
    expected = bits(chain.segment_marginals())
    with ThreadPoolExecutor(4) as pool:
        assert all(answer == expected for answer in pool.map(lambda _: bits(chain.segment_marginals()), range(12)))


def test_many_threads_may_ask_one_ngram_chain_at_once():
    rng = np.random.default_rng(0)
    chain = tw.NGramChain(rng.normal(size=(200, 4)), rng.normal(size=(4, 4, 4)))
    expected = bits(chain.marginals())
    with ThreadPoolExecutor(4) as pool:
        assert all(answer == expected for answer in pool.map(lambda _: bits(chain.marginals()), range(12)))


def longest_silence(work):
    """Run the work in a thread: the longest time this thread did not get to run, and how long the work took."""
    took = []

    def timed():
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)

    thread = threading.Thread(target=timed)
    ticks = [time.perf_counter()]
    thread.start()
    while thread.is_alive():
        time.sleep(0.0005)
        ticks.append(time.perf_counter())
    thread.join()
    ticks.append(time.perf_counter())  # the work may have ended before this thread ran at all
    return max(np.diff(ticks)), took[0]


LONG_WORK = {
    "log_partition": lambda: chain_of(400_000, 24).log_partition,
    "marginals": lambda: chain_of(400_000, 24).marginals,
    "argmax": lambda: chain_of(400_000, 24).argmax,
    "expected_counts": lambda: chain_of(400_000, 8).expected_counts,
    "batch": lambda: (
        tw.ChainBatch(np.random.default_rng(0).normal(size=(64, 6000, 24)), np.zeros((24, 24)), n_jobs=1).marginals
    ),
}


@pytest.mark.parametrize("make", LONG_WORK.values(), ids=LONG_WORK.keys())
def test_other_threads_run_while_the_core_works(make):
    """With the lock held, the longest silence is the whole call. A busy machine gets five tries."""
    work = make()
    tries = [longest_silence(work) for _ in range(5)]
    assert any(silence < took / 2 for silence, took in tries), tries


# Pickle and copy.

STRUCTURES = ["chain", "chain with its own steps", "empty chain", "batch", "ngram chain", "segment chain"]


def make_structures():
    rng = np.random.default_rng(2)
    return {
        "chain": tw.Chain(rng.normal(size=(9, 4)), rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)),
        "chain with its own steps": tw.Chain(rng.normal(size=(9, 4)), rng.normal(size=(8, 4, 4))),
        "empty chain": tw.Chain(np.zeros((0, 4)), np.zeros((4, 4))),
        "batch": tw.ChainBatch([rng.normal(size=(t, 4)) for t in (3, 0, 5)], rng.normal(size=(4, 4)), n_jobs=2),
        "ngram chain": tw.NGramChain(rng.normal(size=(9, 4)), rng.normal(size=(4, 4, 4))),
        "segment chain": tw.SegmentChain(rng.normal(size=(9, 3, 4)), rng.normal(size=(4, 4))),
    }


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_pickled_structure_answers_alike(name, protocol):
    structure = make_structures()[name]
    again = pickle.loads(pickle.dumps(structure, protocol=protocol))
    for question in ["argmax", "log_partition", "marginals"]:
        assert bits(getattr(again, question)()) == bits(getattr(structure, question)())


def test_the_scores_of_an_unpickled_chain_cannot_be_written():
    again = pickle.loads(pickle.dumps(make_structures()["chain"]))
    with pytest.raises(ValueError, match="read-only"):
        again.unary[0, 0] = 1.0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_copied_structure_answers_alike(name, duplicate):
    structure = make_structures()[name]
    assert bits(duplicate(structure).marginals()) == bits(structure.marginals())
