reply = await custom(input=problem, instruction="Answer in as few words as possible, without a sentence around it. If the context does not answer the question, reply: unanswerable")
return reply["response"]
