drafts = []
for _ in range(3):
    reply = await answer_generate(input=problem)
    drafts.append(reply["answer"])
best = await vote(solutions=drafts)
return best["answer"]
