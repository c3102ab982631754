# The 19 templates of CRFsuite's chunking tutorial, and the ends of the sentence.
word[-2..2]
ngram(word[-1..1], 2)
pos[-2..2]
ngram(pos[-2..2], 2..3)
begin
end
