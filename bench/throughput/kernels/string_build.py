parts = []
for i in range(200_000): parts.append(str(i)[::-1].upper())
text = ','.join(parts)
len(text.split(','))
