import { defineService, type Host, s, usd } from 'agenthub/plugin'

/** The smallest service that can be sold. Copy this folder to start your own. */
export default (host: Host) =>
  defineService({
    slug: 'echo',
    name: 'Echo',
    category: 'test',
    summary: 'Says back what it was told.',
    provider: 'example',
    endpoints: {
      'POST /say': {
        summary: 'Answers with the same words.',
        price: usd('0.0001'),
        input: s.object({ words: s.string({ maxBytes: 1_000 }) }),
        output: s.object({ words: s.string() }),
        handle: ({ id, input }) => {
          host.log('said', { id })
          return { words: input.words }
        },
      },
    },
  })
