import { Readable } from 'node:stream'
import { type Call, defineService, type Host, Reply, s, unitPrice, usd } from 'agenthub/plugin'

/** The smallest service that can be sold. Copy this folder to start your own. */
export default (host: Host) =>
  defineService({
    slug: 'echo',
    name: 'Echo',
    category: 'test',
    summary: 'Returns the text that it was sent.',
    provider: 'example',
    freeUnitsPerMonth: { words: 2_000 },
    endpoints: {
      'POST /say': {
        summary: 'Answers with the same words.',
        price: usd('0.0001'),
        input: s.object({ words: s.string({ maxBytes: 1_000, examples: ['Hello, world'] }) }),
        output: s.object({ words: s.string() }),
        handle: ({ id, input }) => {
          host.log('said', { id })
          return { words: input.words }
        },
      },
      'POST /repeat': {
        summary: 'Repeats the words, a line each, priced by the word.',
        price: { max: usd('0.01'), unit: 'words', of: unitPrice(usd('0.001'), 100) },
        input: s.object({
          words: s.string({ minLength: 1, maxBytes: 1_000, examples: ['Hello, world'] }),
          times: s.integer({ minimum: 1, maximum: 1_000 }),
        }),
        streams: true,
        handle: (call) =>
          new Reply(Readable.from(repeat(call)), { headers: { 'Content-Type': 'text/plain' } }),
      },
    },
  })

/** Yields a line at a time after reporting its words, until the maximum price covers no more. */
async function* repeat({
  input: { words, times },
  meter,
  signal,
}: Call<{ readonly words: string; readonly times: number }>): AsyncGenerator<string> {
  const count = words.trim().split(/\s+/).length
  for (let nth = 0; nth < times && !signal.aborted; nth += 1) {
    if (!meter('words', count)) return
    yield `${words}\n`
  }
}
