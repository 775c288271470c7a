import { createPublicKey } from 'node:crypto'
import { expect } from 'chai'
import { ProofError, verifyCosignatures } from '../../../../core/client/index.ts'
import { parseWitnessKey } from '../../../../core/crypto/cosignature.ts'
import { createBackends } from '../../../../core/egress/backends.ts'
import type { Egress } from '../../../../core/egress/http.ts'
import { proveEntries } from '../../../../core/ledger/transparency/entry-proofs.ts'
import { extendTrees } from '../../../../core/ledger/transparency/extend-trees.ts'
import { headsOrigin } from '../../../../core/ledger/transparency/heads-note.ts'
import {
  findCosignedHeads,
  findSignedTree,
  HEADS,
} from '../../../../core/ledger/transparency/signed-tree.ts'
import { cosignHeads } from '../../../../core/ledger/transparency/witnesses.ts'
import { readLedgerId } from '../../../../core/ledger/verify/checkpoints.ts'
import { verifySince } from '../../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { createLog, type Log } from '../../../../core/log.ts'
import { eventually } from '../../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { TestWitness } from '../../../support/witness.ts'
import { postRandomEntries } from '../history/random-ledger.ts'
import { broken, newSigner, pinned } from '../verify/tampering.ts'

describe('witnesses', () => {
  const key = newSigner()
  const lines: string[] = []
  /** Each has outages of its own. */
  const newLog = () => createLog('info', { write: (line: string) => void lines.push(line) }, [])
  let log: Log
  let database: FreshDatabase
  let first: TestWitness
  let second: TestWitness
  let urls: readonly string[]
  let egress: Egress

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())
  beforeEach(async () => {
    lines.length = 0
    log = newLog()
    first = new TestWitness('witness.example/one')
    second = new TestWitness('witness.example/two')
    urls = await Promise.all([first.listen(), second.listen()])
    const origins = urls.map((url) => new URL(url).origin)
    egress = createBackends({ origins, userAgent: 'test' })
    const x = key.publicKey.toString('base64url')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    const origin = headsOrigin(await readLedgerId(database.pool))
    for (const { logs } of [first, second]) logs.set(origin, { key: publicKey, size: 0, root: '' })
    await post()
  })
  afterEach(async () => {
    first.close()
    second.close()
    await egress.close()
  })

  let seed = 0
  async function post(): Promise<void> {
    await postRandomEntries(database.pool, ++seed, { rounds: 4, shards: 2 })
    await extendTrees(database.pool)
    expect(broken(await verifySince(database.pool, { key }))).to.deep.equal({})
  }
  const cosign = () => {
    const witnesses = [first, second].map(({ vkey }, n) => ({
      key: parseWitnessKey(vkey)!,
      url: urls[n]!,
    }))
    return cosignHeads({ pool: database.pool, witnesses, egress, log })
  }
  const newest = async () => (await findSignedTree(database.pool, HEADS))!
  const cosigners = async (note: string) => {
    const policy = { witnesses: [first.vkey, second.vkey], quorum: 1 }
    return verifyCosignatures(note, policy).map(({ witness }) => witness)
  }
  const stateOf = ({ logs }: TestWitness) => [...logs.values()][0]!

  it('cosign every new root, with a proof that it continues the one before', async () => {
    for (let n = 0; n < 4; n++) {
      await cosign()
      const { size, note } = await newest()
      expect(await cosigners(note)).to.deep.equal([first.name, second.name])
      expect([stateOf(first).size, stateOf(second).size]).to.deep.equal([size, size])
      await post()
    }
    expect(first.statuses).to.deep.equal([200, 200, 200, 200])
    await cosign()
    await cosign()
    expect(first.statuses, 'none if nothing is new').to.have.length(5)
    expect(broken(await verifyLedger(database.pool, { keys: [pinned(key)] }))).to.deep.equal({})
  })

  it('are asked again from the tree that they know after their response was lost', async () => {
    first.fault = 'lose'
    await cosign()
    expect(await cosigners((await newest()).note)).to.deep.equal([second.name])
    first.fault = 'none'
    await cosign()
    expect(await cosigners((await newest()).note)).to.deep.equal([first.name, second.name])
    await post()
    first.fault = 'lose'
    await cosign()
    await post()
    first.fault = 'none'
    await cosign()
    expect(await cosigners((await newest()).note)).to.deep.equal([first.name, second.name])
    expect(first.statuses.filter((status) => status === 409)).to.have.length(2)
  })

  it('A298 delay neither the ledger nor each other', async () => {
    second.fault = 'hang'
    const asking = cosign()
    await eventually(async () => (await newest()).note.includes(`— ${first.name} `))
    await post()
    second.close()
    await asking
    expect(lines.join('')).to.include('failed to get a cosignature').and.include(second.name)
  })

  for (const fault of [404, 403, 500, 'garbage'] as const) {
    it(`A298 give nothing to be stored by a response of ${fault}`, async () => {
      first.fault = fault
      await cosign()
      expect(await cosigners((await newest()).note)).to.deep.equal([second.name])
      expect(lines.join('')).to.include('failed to get a cosignature')
    })
  }

  it('A297 that have seen another ledger are reported as an error', async () => {
    const seen = [
      { size: 1, root: Buffer.alloc(32, 7).toString('base64') },
      { size: 2, root: Buffer.alloc(32, 7).toString('base64') },
      { size: 100, root: Buffer.alloc(32, 7).toString('base64') },
    ]
    for (const state of seen) {
      lines.length = 0
      log = newLog()
      Object.assign(stateOf(first), state)
      await cosign()
      expect(lines.join(''), String(state.size)).to.match(/"level":"?(?:50|error)/)
      expect(lines.join('')).to.include('a witness has seen another ledger')
      expect(stateOf(first)).to.include(state)
    }
    expect(await cosigners((await newest()).note)).to.deep.equal([second.name])
  })

  it('are reported once, and cosign again when their operator has set them back', async () => {
    await cosign()
    const { size, root } = stateOf(first)
    Object.assign(stateOf(first), { size: size + 5, root: Buffer.alloc(32, 7).toString('base64') })
    await post()
    await cosign()
    await cosign()
    expect(lines.filter((line) => line.includes('has seen another ledger'))).to.have.length(1)
    Object.assign(stateOf(first), { size, root })
    await cosign()
    expect(await cosigners((await newest()).note)).to.deep.equal([first.name, second.name])
  })

  it('vouch in proofs for what they have seen; the newest root proves the rest', async () => {
    const idOf = async (order: 'ASC' | 'DESC') => {
      const { rows } = await database.pool.query<{ id: string }>(
        `SELECT id FROM ledger.journal WHERE shard = 0 AND phase = 2 ORDER BY seq ${order} LIMIT 1`,
      )
      return rows[0]!.id
    }
    const roots = async (id: string) => {
      const proven = await proveEntries(database.pool, id)
      return new Set(proven.map(({ heads }) => heads.checkpoint))
    }
    await cosign()
    const cosigned = await newest()
    await post()
    expect(await roots(await idOf('ASC'))).to.deep.equal(new Set([cosigned.note]))
    expect(await roots(await idOf('DESC'))).to.deep.equal(new Set([(await newest()).note]))
    expect((await findCosignedHeads(database.pool, 2))!.note).to.equal(cosigned.note)
    expect(await findCosignedHeads(database.pool, 3)).to.equal(undefined)
  })

  it('A297 are trusted by their keys alone, for the checkpoint as they saw it', async () => {
    await cosign()
    const { note } = await newest()
    const witnesses = [first.vkey, second.vkey]
    expect(verifyCosignatures(note, { witnesses })).to.have.length(2)
    const stranger = new TestWitness(first.name).vkey
    const refused = (altered: string, policy: Parameters<typeof verifyCosignatures>[1]) =>
      expect(() => verifyCosignatures(altered, policy)).to.throw(ProofError)
    refused(note, { witnesses: [first.vkey, stranger] })
    refused(note, { witnesses: [first.vkey, first.vkey], quorum: 2 })
    refused(note, { witnesses: [], quorum: 0 })
    refused(note, { witnesses: [first.vkey.replace('one', 'two')] })
    expect(
      verifyCosignatures(note, { witnesses: [...witnesses, stranger], quorum: 2 }),
    ).to.have.length(2)
    const signed = note.indexOf('\n\n')
    for (let at = 0; at < signed; at++) {
      const replaced = note[at] === '1' ? '2' : '1'
      refused(note.slice(0, at) + replaced + note.slice(at + 1), { witnesses, quorum: 1 })
    }
    const line = note.split('\n').find((each) => each.includes(first.name))!
    const bytes = Buffer.from(line.split(' ')[2]!, 'base64')
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      const altered = note.replace(bytes.toString('base64'), changed.toString('base64'))
      refused(altered, { witnesses: [first.vkey] })
    }
  })
})
