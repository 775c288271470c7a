import * as fc from 'fast-check'
import type { Account } from '../../../core/ledger/events.ts'
import type { AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import type { Command } from './model.ts'
import { agent, granted, newId, provider } from './world.ts'

const CALLS = 40

/** A command in numbers, which a run turns into accounts and ids of its own. */
export const command = fc.record({
  do: fc.oneof(
    { arbitrary: fc.constant('reserve' as const), weight: 5 },
    { arbitrary: fc.constantFrom('settle', 'release', 'expire'), weight: 5 },
  ),
  call: fc.nat(CALLS - 1),
  owner: fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, fc.nat(4)),
  amount: fc.bigInt({ min: 1n, max: 60n }),
  charged: fc.oneof(fc.bigInt({ min: 0n, max: 70n }), fc.constantFrom('all', 'all', 'above')),
  payee: fc.nat(3),
  bps: fc.constantFrom(0n, 1n, 1_000n, 3_333n, 10_000n),
  guards: fc.constantFrom<readonly number[]>([], [], [], [0], [1], [0, 1], [1, 0]),
  due: fc.boolean(),
  /** Which term differs from those of the call's first reserve; mostly none. */
  twist: fc.constantFrom('amount', 'payee', 'guards', ...Array<null>(15).fill(null)),
})
export type Draft = typeof command extends fc.Arbitrary<infer T> ? T : never
export const batches = (min: number, max: number) =>
  fc.array(fc.array(command, { minLength: 50, maxLength: 150, size: 'max' }), {
    minLength: min,
    maxLength: max,
    size: 'max',
  })

export interface World {
  readonly refs: ReadonlyMap<Account, AccountRef>
  readonly owners: readonly AccountRef[]
  readonly payees: readonly AccountRef[]
  readonly used: AccountRef
  readonly guards: readonly AccountRef[]
  readonly calls: readonly string[]
}

/** New accounts and ids for one run. */
export async function newWorld(books: Ledger): Promise<World> {
  const credits = [await agent(books, 100n), await agent(books, 37n), await agent(books, 0n)]
  const owners = [...credits, await granted(books, 'FREECALL', 40n), credits[0]!]
  const guards = [await granted(books, 'ALLOWANCE', 90n), await granted(books, 'ALLOWANCE', 50n)]
  const sellers = await books.account('liabilities:x402-out:in-transit')
  // One of the payees spends too: what it earns in a batch pays for later calls of the batch.
  const payees = [await provider(books, 'one'), sellers, credits[2]!]
  const used = await books.account('equity:free-calls:used')
  const all = [...owners, ...guards, ...payees, used]
  const refs = new Map(all.map((ref) => [ref.code, ref]))
  return { refs, owners, payees, used, guards, calls: Array.from({ length: CALLS }, newId) }
}

/** Drafts become commands; most of them about holds that exist, with the terms they have. */
export function commandsOf(
  world: World,
  drafts: readonly Draft[],
  reserved: Map<string, Command> = new Map(),
): Command[] {
  return drafts.map((draft): Command => {
    const call = world.calls[draft.call]!
    const before = reserved.get(call)
    const owner = world.owners[draft.owner ?? draft.call % 4]!
    if (draft.do !== 'reserve') {
      const held = before?.do === 'reserve' ? before.amount : draft.amount
      const { charged } = draft
      const amount = charged === 'all' ? held : charged === 'above' ? held + 1n : charged
      return { do: draft.do, call, owner: owner.code, charged: amount }
    }
    const free = owner.asset === 'FREECALL'
    const made = {
      do: 'reserve' as const,
      call,
      owner: owner.code,
      asset: owner.asset,
      amount: draft.amount,
      payee: (free ? world.used : world.payees[draft.payee % 3]!).code,
      bps: free ? 0n : draft.bps,
      guards: draft.guards.map((i) => world.guards[i]!.code),
      due: draft.due,
    }
    if (before?.do === 'reserve' && before.owner === owner.code) {
      return draft.twist ? { ...before, [draft.twist]: made[draft.twist] } : before
    }
    if (!before) reserved.set(call, made)
    return made
  })
}
