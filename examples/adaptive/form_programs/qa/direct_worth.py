best = await until_worth(ways=[lambda: custom(input=problem, instruction="Answer in as few words as possible, without a sentence around it. If the context does not answer the question, reply: unanswerable")])
return best["answer"]
