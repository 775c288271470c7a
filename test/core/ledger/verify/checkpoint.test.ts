import { createHash, createPublicKey, verify } from 'node:crypto'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { Keyring } from '../../../../core/crypto/signed-note.ts'
import {
  type Checkpoint,
  isSignedBy,
  parseNote,
  signCheckpoint,
  splitNotes,
} from '../../../../core/ledger/checkpoint.ts'
import { newSigner, pinned } from './tampering.ts'

const key = newSigner()
const checkpoint: Checkpoint = {
  ledger: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  shard: 1,
  seq: 4_096n,
  hash: Buffer.alloc(32, 7),
  at: '2026-11-21T06:04:32.123456Z',
  balances: Buffer.alloc(32, 9),
}
const note = signCheckpoint(checkpoint, key)

describe('a checkpoint', () => {
  it('is a C2SP signed note in the tlog-checkpoint format', () => {
    const origin = 'agenthub-ledger/3f2504e0-4f89-41d3-9a0c-0305e82c3301/1'
    const text =
      `${origin}\n4096\n${checkpoint.hash.toString('base64')}\n` +
      `at 2026-11-21T06:04:32.123456Z\nbalances ${checkpoint.balances.toString('base64')}\n`
    expect(note.startsWith(`${text}\n— ${origin} `)).to.equal(true)
    const [, encoded] = /^[^]*\n— \S+ (\S+)\n$/.exec(note) ?? []
    const bytes = Buffer.from(encoded!, 'base64')
    const named = createHash('sha256').update(`${origin}\n\x01`).update(key.publicKey).digest()
    expect(bytes.subarray(0, 4)).to.deep.equal(named.subarray(0, 4))
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.publicKey.toString('base64url') }
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    expect(verify(null, Buffer.from(text), publicKey, bytes.subarray(4))).to.equal(true)
  })

  it('signs the root of the Merkle tree in place of the seal, which follows', async () => {
    const root = Buffer.alloc(32, 5)
    const rooted = signCheckpoint({ ...checkpoint, root }, key)
    expect(rooted.split('\n').slice(1, 6)).to.deep.equal([
      '4096',
      root.toString('base64'),
      'at 2026-11-21T06:04:32.123456Z',
      `seal ${checkpoint.hash.toString('base64')}`,
      `balances ${checkpoint.balances.toString('base64')}`,
    ])
    const { text: _, note: __, signatures: ___, ...read } = parseNote(rooted)!
    expect(read).to.deep.equal({ ...checkpoint, root })
    expect(isSignedBy(new Keyring([pinned(key)]), parseNote(rooted)!)).to.equal(true)
  })

  it('is parsed as written, also among others and with extra signatures', () => {
    const { text: _, note: __, signatures, ...read } = parseNote(note)!
    expect(read).to.deep.equal(checkpoint)
    expect(signatures).to.have.length(1)
    const witnessed = `${note}— witness.example AAAAAAAA\n`
    const names = parseNote(witnessed)!.signatures.map(({ name }) => name)
    expect(names).to.deep.equal([signatures[0]!.name, 'witness.example'])
    expect(isSignedBy(new Keyring([pinned(key)]), parseNote(witnessed)!)).to.equal(true)
    expect(splitNotes(`${note}\n${witnessed}${note}\n\n`)).to.deep.equal([note, witnessed, note])
  })

  it('is valid only if signed by a trusted key', () => {
    expect(isSignedBy(new Keyring([pinned(newSigner()), pinned(key)]), parseNote(note)!)).to.equal(
      true,
    )
    expect(isSignedBy(new Keyring([pinned(newSigner())]), parseNote(note)!)).to.equal(false)
    expect(isSignedBy(new Keyring([]), parseNote(note)!)).to.equal(false)
    expect(() => new Keyring(['c2VjcmV0'])).to.throw(RangeError)
  })

  it('is invalid after any change of a character', () => {
    const keys = new Keyring([pinned(key)])
    const change = fc.record({ at: fc.nat(note.length - 1), to: fc.string({ maxLength: 1 }) })
    fc.assert(
      fc.property(change, ({ at, to }) => {
        const changed = note.slice(0, at) + to + note.slice(at + 1)
        const read = parseNote(changed)
        if (changed === note || !read || !isSignedBy(keys, read)) return
        const { text: _, note: __, signatures: ___, ...fields } = read
        expect(fields).to.deep.equal(checkpoint)
      }),
      { numRuns: 1_000 },
    )
  })
})
