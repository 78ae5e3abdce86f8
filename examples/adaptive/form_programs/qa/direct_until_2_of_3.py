best = await until_agree(ways=[lambda: custom(input=problem, instruction="Answer in as few words as possible, without a sentence around it. If the context does not answer the question, reply: unanswerable")], agree=2, most=3)
return best["answer"]
