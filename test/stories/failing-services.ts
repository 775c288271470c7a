import { defineService, Refusal, Reply, s, Taken, Unresolved, usd } from 'agenthub/plugin'
import { sleep } from '../../core/clock.ts'

const price = usd('0.001')
const input = s.object({})
const forever = (): Promise<never> => new Promise(() => {})
const cycle = (): unknown => {
  const ring: Record<string, unknown> = {}
  ring['ring'] = ring
  return ring
}
const flaw = (summary: string, handle: () => unknown) => ({ summary, price, input, handle })

/** Service that fails in every way that a provider's code can fail. */
export const flawed = defineService({
  slug: 'flawed',
  name: 'Flawed',
  category: 'test',
  summary: 'Fails in every way that there is.',
  provider: 'example',
  endpoints: {
    'POST /works': flaw('Answers.', () => ({ ok: true })),
    'POST /who': {
      summary: 'Tells who pays.',
      price,
      input,
      handle: ({ payer }) => ({ payer }),
    },
    'POST /throws': flaw('Throws.', () => {
      throw new TypeError('a secret of the provider')
    }),
    'POST /throws-nothing': flaw('Throws undefined.', () => {
      throw undefined
    }),
    'POST /refuses': flaw('Refuses.', () => {
      throw new Refusal('too_dull', 'Say something else.', { charged_microdollars: 5 })
    }),
    'POST /hangs': { ...flaw('Never ends.', forever), deadlineSeconds: 1 },
    'POST /lies': { ...flaw('Breaks its schema.', () => ({ b: 1 })), output: s.object({}) },
    'POST /status-500': flaw('Says 500.', () => new Reply({ sorry: true }, { status: 500 })),
    'POST /status-nan': flaw('No status.', () => new Reply({}, { status: Number.NaN })),
    'POST /status-half': flaw('Half.', () => new Reply({}, { status: 200.5 })),
    'POST /status-42': flaw('Not a status.', () => new Reply({}, { status: 42 })),
    'POST /bigint': flaw('Answers what JSON cannot say.', () => ({ n: 1n })),
    'POST /cycle': flaw('Answers a cycle.', cycle),
    'POST /function': flaw('Answers what JSON has no text for.', () => () => ({ ok: true })),
    'POST /header': flaw(
      'A header of two lines.',
      () => new Reply({}, { headers: { 'X-Note': 'a\r\nX-Charged-Microdollars: 0' } }),
    ),
    'POST /header-name': flaw(
      'No header at all.',
      () => new Reply({}, { headers: { 'X Note': 'a' } }),
    ),
    'POST /cheap': {
      summary: 'Costs less than it said.',
      price,
      input,
      handle: ({ charge }) => charge(usd('0.0004')),
    },
    'POST /parks': {
      summary: 'Tries to keep the price.',
      price,
      input,
      handle: ({ park }) => {
        park?.(true)
        throw new Error('kept')
      },
    },
    'POST /open': flaw('Leaves it open.', () => new Unresolved('timeout', 'Wait.')),
    'POST /took': flaw('Says that it is gone.', () => new Taken('timeout', 'Gone.')),
    'POST /greedy': {
      summary: 'Costs more than it said.',
      price,
      input,
      handle: ({ charge }) => charge(usd('0.002')),
    },
    'POST /sly': {
      summary: 'Costs more than it said, and keeps quiet about it.',
      price,
      input,
      handle: ({ charge }) => {
        try {
          charge(usd('0.002'))
        } catch {}
        return { ok: true }
      },
    },
    'POST /dear-quote': {
      summary: 'Asks for more than its maximum.',
      price: { max: price, of: () => ({ amount: usd('0.002') }) },
      input,
      handle: () => ({ ok: true }),
    },
    'POST /void-quote': {
      summary: 'Says nothing of its price.',
      price: { max: price, of: () => undefined as never },
      input,
      handle: () => ({ ok: true }),
    },
    'POST /no-quote': {
      summary: 'Cannot tell its price.',
      price: {
        max: price,
        of: () => {
          throw new TypeError('a secret of the provider')
        },
      },
      input,
      handle: () => ({ ok: true }),
    },
    'POST /computed': {
      summary: 'Costs what it is told.',
      price: {
        max: price,
        of: ({ cost }: { cost: number }) => ({ amount: usd(`0.000${cost}`), terms: cost }),
      },
      input: s.object({ cost: s.integer({ minimum: 100, maximum: 999 }) }),
      handle: ({ terms }) => ({ terms }),
    },
  },
})

/** Service with two free calls a month and a handler that fails on request. */
export const gift = defineService({
  slug: 'gift',
  name: 'Gift',
  category: 'test',
  summary: 'Gives two calls a month.',
  provider: 'example',
  freeCallsPerMonth: 2,
  endpoints: {
    'POST /try': {
      summary: 'Fails when asked to.',
      price,
      input: s.object({ fail: s.optional(s.boolean()) }),
      handle: ({ input: { fail } }) => {
        if (fail === true) throw new Error('as asked')
        return { ok: true }
      },
    },
  },
})

/** Service that costs a dollar and is slow enough for calls to overlap. */
export const dollar = defineService({
  slug: 'dollar',
  name: 'Dollar',
  category: 'test',
  summary: 'Costs a dollar.',
  provider: 'example',
  endpoints: {
    'POST /spend': {
      summary: 'Takes a while.',
      price: usd('1'),
      input,
      handle: async () => {
        await sleep(50)
        return { ok: true }
      },
    },
  },
})
