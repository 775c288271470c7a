import { defineService, type Host, s, usd } from 'agenthub/plugin'

/** Plugin with schedules and listing state, which can also exit. */
let runs = 0

export default (host: Host) =>
  defineService({
    slug: 'tidy',
    name: 'Tidy',
    category: 'test',
    summary: 'Works by itself.',
    provider: 'example',
    deprecated: { since: '2027-01-01' },
    isListed: async () => runs > 0,
    schedules: {
      'tidy-up': {
        everySeconds: 60,
        run: async (signal) => {
          signal.throwIfAborted()
          runs += 1
        },
      },
      'never-ends': { everySeconds: 60, run: () => new Promise(() => {}) },
    },
    endpoints: {
      'GET /runs': {
        summary: 'How often, and since when.',
        headers: ['x-colour'],
        price: usd('0.001'),
        input: s.object({}),
        handle: ({ headers }) => ({
          runs,
          year: host.clock.now().getUTCFullYear(),
          sandbox: host.sandbox,
          colour: headers?.['x-colour'] ?? null,
        }),
      },
      'POST /exit': {
        summary: 'Ends.',
        price: usd('0.001'),
        input: s.object({}),
        handle: () => process.exit(3),
      },
    },
  })
