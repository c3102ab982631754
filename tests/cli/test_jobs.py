"""The option --jobs."""

import pytest


@pytest.mark.parametrize("verb", ["train", "cv"])
def test_absurdly_many_threads_are_refused_in_the_words_of_the_shell(run, small, tmp_path, verb):
    more = ("-o", tmp_path / "m.tw") if verb == "train" else ()
    code, out, err = run(verb, small, *more, "--jobs", 2**62)
    assert (code, out) == (2, "")
    assert f"--jobs is {2**62}; expected at most 1024 threads; leave it out for one on each processor" in err
