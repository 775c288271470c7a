import { expect } from 'chai'
import * as fc from 'fast-check'
import { exportCheckpoints } from '../../../../core/ledger/checkpoint.ts'
import { exportLedger } from '../../../../core/ledger/export/writer.ts'
import { Ledger } from '../../../../core/ledger/ledger.ts'
import { reverseCall } from '../../../../core/ledger/reverse.ts'
import { CLOSED } from '../../../../core/ledger/verify/closed-months.ts'
import { linesOf, verifyExport } from '../../../../core/ledger/verify/export-verifier.ts'
import { verifySince } from '../../../../core/ledger/verify/incremental.ts'
import type { Verification } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { DEBTOR, eventSamples, fundAssets, PRICE } from '../event-samples.ts'
import { newId, openGranted, openProvider, order, sampleLedger } from '../fixture.ts'
import { broken, newSigner, pinned, REWRITE, tamper } from './tampering.ts'

const key = newSigner()
const keys = [pinned(key)]

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

/** Fills two shards with every kind of event, with a checkpoint in the middle. */
async function richBooks(database: FreshDatabase): Promise<void> {
  const { pool } = database
  await database.admin.query('SELECT ledger.open_shard(1::smallint)')
  const { owner, payee } = await sampleLedger(pool)
  await verifySince(pool, { key })
  const ledger = new Ledger(pool)
  const sellers = await ledger.account('liabilities:x402-out:in-transit')
  for (const earner of [payee, sellers]) {
    const paid = order(owner, earner, 100n, { commissionBps: 0 })
    await ledger.reserve(paid)
    await ledger.settle(paid, 100n)
  }
  const call = order(owner, payee, 90n)
  await ledger.reserve(call)
  await ledger.settle(call, 80n)
  await reverseCall(pool, ledger, call, { author: 'finance', reason: 'a dispute' })
  const other = await ledger.open('liabilities:agents:key_other:credits', 'USDC', { home: 0 })
  const parties = {
    credits: owner.code,
    other: other.code,
    free: (await openGranted(ledger, 'FREECALL', 2n)).code,
    earnings: (await openProvider(ledger, 'acme')).code,
  }
  const decision = { author: 'a\tb\\ "c" \u{1F4B6}', reason: 'line\nbreak' }
  const meta = { ...decision, ...PRICE, provider: DEBTOR, more: [1.5, null, { a: '' }] }
  await fundAssets(ledger)
  for (const { event } of eventSamples(parties))
    await ledger.post(event, { owner, id: newId(), meta })
  const away = await ledger.open('liabilities:agents:key_away:credits', 'USDC', { home: 1 })
  const gift = { type: 'credits.granted', credits: away.code, amount: 500n } as never
  await ledger.post(gift, {
    owner: away,
    id: newId(),
    effectiveAt: new Date('2026-11-02T03:04:05Z'),
  })
  const held = [1, 2, 3].map(() => order(away, payee, 10n))
  await Promise.all(held.map((hold) => ledger.reserve(hold)))
  await ledger.settle(held[0]!, 7n)
  await verifySince(pool, { key })
}

const withoutCheckpoints = (lines: readonly string[]): readonly string[] =>
  lines
    .filter((line) => !line.startsWith('{"type":"checkpoint"'))
    .map((line) => line.replace(/,"checkpoints":\d+\}$/, '}'))

describe('the verification of an export without the database', () => {
  let database: FreshDatabase
  let lines: string[]
  let checkpoints = ''

  before(async () => {
    database = await freshDatabase()
    await richBooks(database)
    lines = await exported()
    for await (const note of exportCheckpoints(database.pool)) checkpoints += note
  })
  after(() => database.drop())

  async function exported(range?: { shard?: number; from?: bigint; to?: bigint }) {
    const all: string[] = []
    for await (const line of linesOf(
      exportLedger(database.pool, 'jsonl', range ? { range } : {}),
    )) {
      all.push(line)
    }
    return all
  }

  const verify = (changed: readonly string[], trust = {}): Promise<Verification> =>
    verifyExport(each(changed), { checkpoints, keys, ...trust })

  it('finds nothing in a sound export, and reports no limits', async () => {
    const result = await verify(lines)
    expect(broken(result)).to.deep.equal({})
    expect(result).not.to.have.property('notes')
    expect(result.checks.length).to.be.at.least(14)
    expect(lines.filter((line) => line.startsWith('{"type":"entry"')).length).to.be.above(50)
    expect(new Set(lines.map((line) => /"event":"([a-z.-]+)"/.exec(line)?.[1])).size).to.be.above(
      28,
    )
  })

  it('reports what it could not verify', async () => {
    const none = { checkpoints: undefined, keys: undefined }
    const blind = await verify(withoutCheckpoints(lines), none)
    expect(blind.ok).to.equal(true)
    expect(blind.notes).to.include(
      'there are no checkpoints: a completely rewritten history goes undetected',
    )
    const unsigned = await verify(lines, { keys: undefined })
    expect(unsigned.ok).to.equal(true)
    expect(unsigned.notes!.join()).to.match(/signatures of checkpoints were not checked/)
    const tail = await verify(await exported({ shard: 0, from: 16n }))
    expect(broken(tail)).to.deep.equal({})
    expect(tail.notes!.join('\n')).to.match(/^shard 0 starts at seq 16: earlier balances/)
    expect(tail.notes!.join('\n')).to.match(
      /the hash before seq \d+, [0-9a-f]{64}, was not verified/,
    )
    const middle = await verify(await exported({ shard: 0, from: 2n, to: 13n }))
    expect(broken(middle)).to.deep.equal({})
    expect(middle.notes!.join('\n')).to.match(/their seal is not in the export/)
    expect(middle.notes!.join('\n')).to.match(/shard 0: no checkpoint; rows there could have/)
  })

  it('trusts the hash before a range if a checkpoint signed it', async () => {
    const seq = /^agenthub-ledger\/[0-9a-f-]+\/0\n(\d+)$/m.exec(checkpoints)![1]!
    const tail = await verify(await exported({ shard: 0, from: BigInt(seq) + 1n }))
    expect(broken(tail)).to.deep.equal({})
    expect(tail.notes!.join()).not.to.include('on trust')
  })

  it('detects any change of any line', async () => {
    const mutation = fc.oneof(
      { weight: 6, arbitrary: changedField() },
      { weight: 2, arbitrary: changedCharacter() },
      { weight: 3, arbitrary: movedLines() },
    )
    const seen = new Set<string>()
    const expectFound = async (changed: readonly string[]): Promise<void> => {
      const result = await verify(changed)
      expect(result.ok, 'found').to.equal(false)
      for (const name of Object.keys(broken(result))) seen.add(name)
    }
    for (const [i, line] of lines.entries()) {
      await expectFound(lines.toSpliced(i, 1))
      await expectFound(lines.toSpliced(i, 0, line))
    }
    await fc.assert(
      fc.asyncProperty(mutation, async (mutate) => {
        const changed = mutate(lines)
        fc.pre(changed.join('\n') !== lines.join('\n'))
        await expectFound(changed)
      }),
      { numRuns: 400 },
    )
    const { checks } = await verify(lines)
    // Each can fail; the months have a test of their own, above.
    const names = checks.map(({ name }) => name).filter((name) => name !== CLOSED)
    expect([...seen].sort()).to.deep.equal(names.sort())
  })

  it('detects a change of any column and reports the row', async () => {
    const places = lines.flatMap((line, i) => (line.startsWith('{"type":"entry"') ? [i] : []))
    for (const place of [places[1]!, places[14]!, places.at(-1)!]) {
      const { row } = JSON.parse(lines[place]!)
      for (const column of Object.keys(row)) {
        const entry = JSON.parse(lines[place]!)
        entry.row[column] = another(row[column], column)
        const result = await verify(lines.with(place, JSON.stringify(entry)))
        const found = Object.values(broken(result)).join('\n')
        expect(found, column).to.match(
          new RegExp(`shard \\d+ seq (\\d+) id ${row.id}|seq ${row.seq}|line ${place + 1}:`),
        )
      }
    }
  })

  it('detects an account renamed everywhere by its signed balance', async () => {
    const renamed = lines.map((line) => line.replaceAll('providers:acme:x', 'providers:acme:y'))
    const carried = 'the verified balances match the signed ones'
    expect(Object.keys(broken(await verify(renamed)))).to.deep.equal([carried])
  })

  it('detects a cleanly truncated end by its checkpoint', async () => {
    const cut = await exported({ to: 14n })
    expect(broken(await verify(cut))).to.deep.equal({})
    const seals = lines.filter((line) => line.startsWith('{"type":"seal","shard":1'))
    const open = lines.filter((line) => line !== seals.at(-1))
    const signed = 'every checkpoint is signed and matches its seal'
    expect(broken(await verify(open))).to.have.keys([signed])
    expect(broken(await verify(open))[signed]).to.match(/^shard 1 checkpoint of seq \d+: no seal/)
    expect(broken(await verify(open, { checkpoints: undefined }))).to.have.keys([signed])
    expect((await verify(withoutCheckpoints(open), { checkpoints: undefined })).ok).to.equal(true)
  })

  it('detects a rewritten history by checkpoints of a trusted key', async () => {
    const copy = await freshDatabase()
    try {
      await richBooks(copy)
      let stored = ''
      for await (const note of exportCheckpoints(copy.pool)) stored += note
      await tamper(
        copy,
        'UPDATE ledger.journal SET endpoint = endpoint + 1 WHERE phase = 1',
        ...REWRITE,
      )
      const forged: string[] = []
      for await (const line of linesOf(exportLedger(copy.pool, 'jsonl'))) forged.push(line)
      forged.splice(0, forged.length, ...withoutCheckpoints(forged))
      const terms = 'every outcome has an open reserve with the same terms'
      expect(Object.keys(broken(await verifyExport(each(forged))))).to.deep.equal([terms])
      const signed = 'every checkpoint is signed and matches its seal'
      const found = broken(await verifyExport(each(forged), { checkpoints: stored, keys }))
      expect(found[signed]).to.match(/^shard 0 checkpoint of seq \d+: the seal differs/)
      const mine = { checkpoints: stored, keys: [pinned(newSigner())] }
      expect(broken(await verifyExport(each(forged), mine))[signed]).to.match(
        /not signed by a trusted key/,
      )
    } finally {
      await copy.drop()
    }
  })

  it('rejects malformed exports, partial exports and malformed notes', async () => {
    const form = 'every line follows the format'
    expect(broken(await verify([]))[form]).to.equal('line 1: the end is missing')
    expect(broken(await verify(['hello']))[form]).to.equal('line 1: not JSON')
    const part: string[] = []
    const accounts = ['income:commission']
    for await (const line of linesOf(exportLedger(database.pool, 'jsonl', { accounts })))
      part.push(line)
    expect(broken(await verify(part))[form]).to.match(/^line 1: an export of a period/)
    const odd = await verify(lines, { checkpoints: `${checkpoints}hello\n` })
    expect(Object.values(broken(odd))).to.deep.equal(['not a checkpoint: hello'])
  })
})

type Mutation = (lines: readonly string[]) => string[]

/** Returns a different value of the same format. */
function another(value: unknown, salt: string | number): unknown {
  if (value === null) return salt === 'meta' ? '{}' : salt === 'guards' ? ['7'] : 7
  if (typeof value === 'number') return value + 1
  if (Array.isArray(value)) return value.length > 0 ? value.slice(1) : ['7']
  const text = value as string
  if (/^-?\d+$/.test(text)) return String(BigInt(text) + 1n)
  const last = text.at(-2) ?? ''
  return `${text.slice(0, -2)}${last === '1' ? '2' : '1'}${text.at(-1)}`
}

/** Returns the paths to all leaves and all arrays of a line. */
function leaves(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  const own = Array.isArray(value) ? [path] : []
  return [
    ...own,
    ...Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name])),
  ]
}

const changedField = (): fc.Arbitrary<Mutation> =>
  fc.record({ line: fc.nat(), field: fc.nat() }).map(({ line, field }) => (lines) => {
    const place = line % lines.length
    const value = JSON.parse(lines[place]!)
    const paths = leaves(value)
    const path = paths[field % paths.length]!
    const name = path.at(-1)!
    let parent = value
    for (const step of path.slice(0, -1)) parent = parent[step]
    parent[name] = another(parent[name], name)
    return lines.with(place, JSON.stringify(value))
  })

const changedCharacter = (): fc.Arbitrary<Mutation> =>
  fc
    .record({ line: fc.nat(), at: fc.nat(), to: fc.constantFrom('', ' ', '0', '1', 'a', '"', '}') })
    .map(({ line, at, to }) => (lines) => {
      const place = line % lines.length
      const text = lines[place]!
      const index = at % text.length
      return lines.with(place, text.slice(0, index) + to + text.slice(index + 1))
    })

const movedLines = (): fc.Arbitrary<Mutation> =>
  fc
    .record({ what: fc.constantFrom('remove', 'copy', 'swap', 'append'), a: fc.nat(), b: fc.nat() })
    .map(({ what, a, b }) => (lines) => {
      const from = a % lines.length
      const to = b % lines.length
      const line = lines[from]!
      if (what === 'remove') return lines.toSpliced(from, 1)
      if (what === 'copy') return lines.toSpliced(to, 0, line)
      return what === 'append' ? [...lines, line] : lines.with(from, lines[to]!).with(to, line)
    })
