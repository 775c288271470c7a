import * as fc from 'fast-check'
import type { Account } from '../../../core/ledger/events.ts'
import type { AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { newId, openAgent, openGranted, openProvider } from './fixture.ts'
import type { Command } from './model.ts'

const CALLS = 40

/** Random numbers for a command, which each run turns into its own accounts and ids. */
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
  /** Term that differs from the call's first reserve; usually none. */
  twist: fc.constantFrom('amount', 'payee', 'guards', ...Array<null>(15).fill(null)),
})
export type CommandDraft = typeof command extends fc.Arbitrary<infer T> ? T : never
export const batches = (min: number, max: number) =>
  fc.array(fc.array(command, { minLength: 50, maxLength: 150, size: 'max' }), {
    minLength: min,
    maxLength: max,
    size: 'max',
  })

export interface CommandAccounts {
  readonly refs: ReadonlyMap<Account, AccountRef>
  readonly owners: readonly AccountRef[]
  readonly payees: readonly AccountRef[]
  readonly used: AccountRef
  readonly guards: readonly AccountRef[]
  readonly calls: readonly string[]
}

/** Opens new accounts and ids for one run. */
export async function openCommandAccounts(ledger: Ledger): Promise<CommandAccounts> {
  const credits = [
    await openAgent(ledger, 100n),
    await openAgent(ledger, 37n),
    await openAgent(ledger, 0n),
  ]
  const owners = [...credits, await openGranted(ledger, 'FREECALL', 40n), credits[0]!]
  const guards = [
    await openGranted(ledger, 'ALLOWANCE', 90n),
    await openGranted(ledger, 'ALLOWANCE', 50n),
  ]
  const sellers = await ledger.account('liabilities:x402-out:in-transit')
  // One payee also spends: its earnings in a batch pay for later calls of the batch.
  const payees = [await openProvider(ledger, 'one'), sellers, credits[2]!]
  const used = await ledger.account('equity:free-calls:used')
  const all = [...owners, ...guards, ...payees, used]
  const refs = new Map(all.map((ref) => [ref.code, ref]))
  return { refs, owners, payees, used, guards, calls: Array.from({ length: CALLS }, newId) }
}

/** Turns drafts into commands, mostly on existing holds with their terms. */
export function toCommands(
  world: CommandAccounts,
  drafts: readonly CommandDraft[],
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
