"""What an application answers, and what it refuses."""

import json

import numpy as np
import pytest

import trelliswork as tw

TEXT = "2 ripe tomatoes, chopped"
TOKENS = ["2", "ripe", "tomatoes", ",", "chopped"]


@pytest.fixture
def client(client_of, labeler):
    return client_of(labeler)


@pytest.fixture(scope="module")
def loaded(labeler):
    return tw.load(labeler)


def asked(client, path, status=200, **body):
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    return response.json()


def test_text_is_cut_and_labelled_as_by_the_labeler(client, loaded):
    answer = asked(client, "/tag", text=TEXT)
    assert answer["tokens"] == TOKENS
    assert [TEXT[start:stop] for start, stop in answer["offsets"]] == TOKENS
    assert answer["labels"] == loaded.predict([TOKENS])[0]


def test_a_batch_is_labelled_as_its_sentences_are(client, loaded):
    answer = asked(
        client, "/batch", sentences=[{"tokens": TOKENS}, {"text": ""}, {"text": "salt", "fixed": {"0": "O"}}]
    )
    assert [one["labels"] for one in answer["sentences"]] == [loaded.predict([TOKENS])[0], [], ["O"]]


def test_the_best_come_with_log_probabilities(client, loaded):
    best = asked(client, "/kbest", tokens=TOKENS, k=3)["best"]
    assert [(one["labels"], one["log_prob"]) for one in best] == loaded.predict_kbest([TOKENS], 3)[0]


def test_marginals_are_those_of_the_labeler(client, loaded):
    answer = asked(client, "/marginals", tokens=TOKENS)
    assert answer["labels"] == loaded.classes_.tolist()
    np.testing.assert_array_equal(answer["marginals"], loaded.predict_marginals([TOKENS])[0])


def test_what_is_fixed_changes_everything_else(client, loaded):
    fixed = {1: "B-SIZE"}
    answer = asked(client, "/analyse", tokens=TOKENS, fixed=fixed)
    assert answer["labels"] == loaded.predict([TOKENS], fixed=[fixed])[0]
    np.testing.assert_array_equal(answer["marginals"], loaded.predict_marginals([TOKENS], fixed=[fixed])[0])
    assert [span["type"] for span in answer["spans"]] == [
        s.type for s in loaded.predict_spans([TOKENS], fixed=[fixed])[0]
    ]


def test_an_explanation_adds_up(client, loaded):
    (why,) = asked(client, "/explain", tokens=TOKENS, position=2, top=1000)["explained"]
    assert why["label"] == loaded.predict([TOKENS])[0][2]
    assert sum(one["value"] for one in why["contributions"]) == pytest.approx(why["score"])
    assert why["others"] == 0


def test_another_label_can_be_explained(client):
    (why,) = asked(client, "/explain", tokens=TOKENS, position=2, label="O")["explained"]
    assert why["label"] == "O"


def test_a_model_without_probabilities_still_answers(client_of, tmp_path):
    X, y = [["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]]
    tw.SequenceLabeler("perceptron", at_most={"A": 1}).fit(X, y).save(tmp_path / "m.tw")
    client = client_of(tmp_path / "m.tw")
    answer = asked(client, "/analyse", tokens=["a", "b"])
    assert answer["labels"] == ["A", "B"]
    assert "at_most" in answer["refused"]["marginals"]
    assert not client.get("/model").json()["probabilities"]
    assert "at_most" in asked(client, "/marginals", 422, tokens=["a"])["error"]


def test_segments_are_served(client_of, tmp_path):
    X, y = [["a", "b", "c"], ["c", "a"]], [["B-X", "I-X", "O"], ["O", "B-X"]]
    tw.SegmentLabeler().fit(X, y).save(tmp_path / "m.tw")
    client = client_of(tmp_path / "m.tw")
    answer = asked(client, "/analyse", tokens=["a", "b", "c"])
    assert answer["labels"] == ["B-X", "I-X", "O"]
    assert answer["spans"][0]["stop"] == 2
    assert "segments" in asked(client, "/marginals", 422, tokens=["a"])["error"]
    assert asked(client, "/tag", tokens=["a", "b"], fixed={"0": "O"})["labels"][0] == "O"


def test_columns_come_as_rows(client_of, tmp_path):
    X, y = [[("dog", "NN"), ("barks", "VB")]], [["S", "V"]]
    tw.SequenceLabeler(features=tw.Templates("columns: word pos\nword[0]\npos[0]\n")).fit(X, y).save(tmp_path / "m.tw")
    client = client_of(tmp_path / "m.tw")
    assert asked(client, "/tag", tokens=[["dog", "NN"], ["barks", "VB"]])["labels"] == ["S", "V"]
    assert "2 columns" in asked(client, "/tag", 422, text="dog barks")["error"]
    assert "1 columns" in asked(client, "/tag", 422, tokens=["dog"])["error"]


class TestTrees:
    WORDS = (["The", "DET"], ["dog", "NOUN"], ["barks", "VERB"])

    @pytest.fixture
    def client(self, client_of, parser):
        return client_of(parser)

    def test_trees_are_those_of_the_parser(self, client, parser):
        answer = asked(client, "/analyse", tokens=self.WORDS)
        rows = [(word, "_", tag, "_", "_") for word, tag in self.WORDS]
        ((heads, relations),) = tw.load(parser).predict([rows])
        assert (answer["heads"], answer["relations"]) == (heads, relations)
        assert answer["svg"].startswith("<svg")
        assert len(answer["probabilities"]) == 3

    def test_a_head_can_be_fixed(self, client):
        assert asked(client, "/tag", tokens=self.WORDS, fixed={"0": 3})["heads"][0] == 3
        assert "head" in asked(client, "/tag", 422, tokens=self.WORDS, fixed={"0": 9})["error"]
        assert "head" in asked(client, "/tag", 422, tokens=self.WORDS, fixed={"0": "det"})["error"]

    def test_arcs_are_explained_and_have_probabilities(self, client):
        (why,) = asked(client, "/explain", tokens=self.WORDS, position=1)["explained"]
        assert why["position"] == 1
        table = np.array(asked(client, "/marginals", tokens=self.WORDS)["marginals"])
        np.testing.assert_allclose(table[:, 1:].sum(axis=0), 1.0, atol=1e-9)

    def test_no_word_has_no_tree(self, client):
        assert "without a token" in asked(client, "/tag", 422, text="")["error"]

    def test_constituents(self, client_of, tmp_path):
        words = ["the", "dog", "barks"]
        tw.ConstituencyParser().fit([words], ["(S (NP (D the) (N dog)) (V barks))"]).save(tmp_path / "m.tw")
        client = client_of(tmp_path / "m.tw")
        answer = asked(client, "/analyse", tokens=words)
        assert answer["tree"].startswith("(S (NP")
        assert answer["svg"].startswith("<svg")
        assert asked(client, "/explain", tokens=words, position=0)["explained"][0]["label"] == "S"
        assert asked(client, "/marginals", tokens=words)["spans"][0]["probability"] == pytest.approx(1.0, abs=0.2)
        assert len(asked(client, "/kbest", tokens=words, k=2)["best"]) == 2


class TestRefused:
    @pytest.mark.parametrize(
        ("body", "told"),
        [
            ("", "body"),
            ("{", "body"),
            ("[]", "Expected `object`"),
            ('{"text": 3}', "text"),
            ('{"text": "a", "tokens": ["a"]}', "either text or tokens"),
            ("{}", "either text or tokens"),
            ('{"text": "a", "texts": []}', "unknown field"),
            ('{"tokens": ["a", 1]}', "tokens"),
            ('{"tokens": ["a"], "fixed": {"5": "O"}}', "position 5"),
            ('{"tokens": ["a"], "fixed": {"-1": "O"}}', "body"),
            ('{"tokens": ["a"], "fixed": {"0": "WRONG"}}', "WRONG"),
            ('{"text": ' + "[" * 100_000 + "]" * 100_000 + "}", "body"),
            ('{"tokens": ' + '[["' * 50_000 + "}", "body"),
            ('{"text": "a' + "\\ud800" + '"}', ""),
        ],
    )
    def test_bodies_that_are_wrong(self, client, body, told):
        response = client.post("/tag", content=body.encode(), headers={"content-type": "application/json"})
        assert response.status_code in (400, 422)
        assert told in response.json()["error"]

    def test_bytes_that_are_no_text(self, client):
        response = client.post("/tag", content=b'{"text": "\xff"}', headers={"content-type": "application/json"})
        assert response.status_code == 400

    def test_what_is_not_said_to_be_json(self, client):
        assert client.post("/tag", content="{}", headers={"content-type": "text/plain"}).status_code == 415
        assert client.post("/tag", data={"text": "a"}).status_code == 415

    def test_too_much_of_anything(self, client_of, labeler):
        from trelliswork.serving import Limits

        client = client_of(labeler, limits=Limits(body=2000, tokens=10, sentences=2, k=3))
        assert "2000 bytes" in asked(client, "/tag", 413, text="a" * 3000)["error"]
        assert "11 tokens" in asked(client, "/tag", 413, tokens=["a"] * 11)["error"]
        assert "3 sentences" in asked(client, "/batch", 413, sentences=[{"text": "a"}] * 3)["error"]
        assert "4 best" in asked(client, "/kbest", 413, text="a", k=4)["error"]
        assert "12 tokens" in asked(client, "/batch", 413, sentences=[{"tokens": ["a"] * 6}] * 2)["error"]

    def test_an_answer_that_takes_too_long(self, client_of, labeler):
        from trelliswork.serving import Limits

        client = client_of(labeler, limits=Limits(seconds=0.001))
        answer = client.post("/kbest", json={"tokens": ["a"] * 20_000, "k": 100})
        assert answer.status_code == 503
        assert "seconds" in answer.json()["error"]
        assert answer.headers["retry-after"] == "1"

    def test_other_hosts(self, client_of, labeler):
        client = client_of(labeler, hosts=["localhost"])
        assert client.get("/health", headers={"host": "evil.example"}).status_code == 400
        assert client.get("/health", headers={"host": "localhost:8000"}).status_code == 200

    def test_paths_and_methods(self, client):
        assert "/tag" in client.get("/nothing").json()["error"]
        answer = client.get("/tag")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"

    def test_models_that_no_request_fits(self, tmp_path):
        from trelliswork.serving import application

        tw.SequenceLabeler().fit([[["a"], ["b"]]], [["A", "B"]]).save(tmp_path / "m.tw")
        with pytest.raises(tw.InvalidInput, match="made in Python"):
            application(tmp_path / "m.tw")
        tw.HMM().fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "h.tw")
        with pytest.raises(tw.InvalidInput, match="hmm"):
            application(tmp_path / "h.tw")
        (tmp_path / "no.tw").write_bytes(b"no model")
        with pytest.raises(tw.InvalidModel):
            application(tmp_path / "no.tw")


def test_metrics_count_requests_and_tokens(client):
    asked(client, "/tag", tokens=TOKENS)
    asked(client, "/tag", 422, tokens=["a"], fixed={"0": "WRONG"})
    text = client.get("/metrics").text
    assert 'trelliswork_requests_total{path="/tag",status="200"} 1.0' in text
    assert 'trelliswork_requests_total{path="/tag",status="422"} 1.0' in text
    assert "trelliswork_tokens_total 6.0" in text


def test_the_description_is_openapi_and_its_examples_hold(client):
    description = client.get("/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    for path, operations in description["paths"].items():
        if "post" not in operations:
            assert client.get(path).status_code == 200
            continue
        reference = operations["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        for example in description["components"]["schemas"][reference.rpartition("/")[2]]["examples"]:
            asked(
                client,
                path,
                **{name: value for name, value in example.items() if path != "/explain" or name != "fixed"},
            )


def test_the_page_of_the_description_names_every_question(client):
    text = client.get("/docs").text
    assert all(f"POST {path}" in text for path in ("/tag", "/batch", "/kbest", "/marginals", "/explain", "/analyse"))


def test_the_page_asks_for_nothing_from_outside(client):
    sizes = 0
    for path in ("/", "/page.js", "/page.css"):
        response = client.get(path)
        sizes += len(response.content)
        text = response.text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
        assert "default-src 'self'" in response.headers["content-security-policy"]
    assert sizes < 200_000
    assert json.loads(client.get("/model").text)["kind"] == "labels"
