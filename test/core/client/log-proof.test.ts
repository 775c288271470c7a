import type { JsonWebKey } from 'node:crypto'
import { RFC9162 } from '@transmute/rfc9162'
import { expect } from 'chai'
import {
  fetchLogProof,
  type LogProof,
  ProofError,
  verifyLogProof,
} from '../../../core/client/index.ts'
import type { SigningKey } from '../../../core/crypto/signing-key.ts'
import { signHeads } from '../../../core/ledger/transparency/heads-note.ts'
import { newSigner } from '../ledger/verify/tampering.ts'

const LEDGER = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
const AT = '2026-11-21T06:04:32.123456Z'
const key = newSigner()
const keys: JsonWebKey[] = [{ kty: 'OKP', crv: 'Ed25519', x: key.publicKey.toString('base64url') }]
const SIZE = 40

/** Log that signs checkpoints and proves; roots and proofs are computed by `@transmute/rfc9162`. */
class Log {
  readonly #leaves: readonly Uint8Array[]

  constructor(rows: readonly string[]) {
    this.#leaves = rows.map((row) => Buffer.from(row))
  }

  async note(size = this.#leaves.length, signer: SigningKey = key, ledger = LEDGER) {
    const root = Buffer.from(await RFC9162.treeHead(this.#leaves.slice(0, size)))
    return signHeads({ ledger, size, root, at: AT }, signer)
  }

  async hashes(from: number, to = this.#leaves.length): Promise<string[]> {
    const proof = await RFC9162.PROOF(from, this.#leaves.slice(0, to))
    const hashes = proof.map((hash) => Buffer.from(hash).toString('base64'))
    // The package proves a perfect tree with its root, which RFC 9162, 2.1.4.1, leaves out.
    return Number.isInteger(Math.log2(from)) ? hashes.slice(1) : hashes
  }
}

const ROWS = Array.from({ length: SIZE }, (_, n) => `row ${n}`)
const log = new Log(ROWS)
const replaced = ROWS.map((row, n) => (n === 5 ? 'another' : row))
const reordered = ROWS.map((row, n) => ROWS[n === 5 ? 6 : n === 6 ? 5 : n] ?? row)

describe('the proof that a log continues a stored checkpoint', () => {
  it('holds for every earlier size of every later log', async () => {
    for (let to = 1; to <= SIZE; to++) {
      const newer = await log.note(to)
      for (let from = 1; from <= to; from++) {
        const hashes = from === to ? [] : await log.hashes(from, to)
        const proven = verifyLogProof({ older: await log.note(from), newer, hashes }, keys)
        expect([proven.older.size, proven.newer.size, proven.tree]).to.deep.equal([
          from,
          to,
          'heads',
        ])
      }
    }
  }).timeout(60_000)

  it('fails for a log with a removed, changed or reordered row, whatever it proves', async () => {
    const logs = {
      removed: new Log([...ROWS.slice(0, 5), ...ROWS.slice(6), 'one more']),
      changed: new Log(replaced),
      reordered: new Log(reordered),
      'removed from the end': new Log([...ROWS.slice(0, 9), ...ROWS.slice(10), 'one more']),
    }
    for (const [name, other] of Object.entries(logs)) {
      for (const size of [10, 16, 33]) {
        const older = await log.note(size)
        const newer = await other.note()
        for (const hashes of [await other.hashes(size), await log.hashes(size), []]) {
          const verify = () => verifyLogProof({ older, newer, hashes }, keys)
          expect(verify, `${name} after ${size}`).to.throw(ProofError, 'The log was rewritten')
        }
      }
    }
  })

  it('fails for two logs of one size, and for one that was cut off', async () => {
    const [older, newer] = [await log.note(), await new Log(replaced).note()]
    const fork = () => verifyLogProof({ older, newer, hashes: [] }, keys)
    expect(fork).to.throw(ProofError, 'the hub signed two logs of 40 leaves')
    const shorter = await log.note(30)
    const cut = () => verifyLogProof({ older, newer: shorter, hashes: [] }, keys)
    expect(cut).to.throw(ProofError, 'The log was cut off: it had 40 leaves, now 30.')
  })

  it('fails after a change of any character, or of one hash', async () => {
    const proof = {
      older: await log.note(13),
      newer: await log.note(),
      hashes: await log.hashes(13),
    }
    verifyLogProof(proof, keys)
    const fails = (changed: LogProof, what: string): void => {
      expect(() => verifyLogProof(changed, keys), what).to.throw(ProofError)
    }
    for (const part of ['older', 'newer'] as const) {
      const note = proof[part]
      const end = note.indexOf('\n\n')
      for (let n = 0; n <= end; n++) {
        const changed = `${note.slice(0, n)}${note[n] === '0' ? '1' : '0'}${note.slice(n + 1)}`
        fails({ ...proof, [part]: changed }, `${part} ${n}`)
      }
    }
    for (const [n, hash] of proof.hashes.entries()) {
      const other = `${hash.startsWith('A') ? 'B' : 'A'}${hash.slice(1)}`
      fails({ ...proof, hashes: proof.hashes.with(n, other) }, `hash ${n}`)
      fails({ ...proof, hashes: proof.hashes.toSpliced(n, 1) }, `without hash ${n}`)
    }
    fails({ ...proof, hashes: [...proof.hashes, proof.hashes[0]!] }, 'one hash more')
    fails({ ...proof, newer: await log.note(SIZE, newSigner()) }, 'another key')
    const other = await log.note(SIZE, key, '3f2504e0-4f89-41d3-9a0c-0305e82c3302')
    fails({ ...proof, newer: other }, 'another ledger')
  })

  it('is fetched from a hub, which is found out if it rewrote its log', async () => {
    const older = await log.note(20)
    const serve = (served: Log) => async (path: string) => {
      if (path === '/v1/ledger/trees/heads/checkpoint') return served.note()
      expect(path).to.equal('/v1/ledger/trees/heads/consistency?from=20&to=40')
      return JSON.stringify({ hashes: await served.hashes(20) })
    }
    const proof = await fetchLogProof(serve(log), older, keys)
    expect(verifyLogProof(proof, keys).newer.size).to.equal(SIZE)
    const forked = await fetchLogProof(serve(new Log(replaced)), older, keys).catch(
      (error: unknown) => error,
    )
    expect(forked).to.be.instanceOf(ProofError)
    expect(String(forked)).to.include('The log was rewritten')
  })
})
