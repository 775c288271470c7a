import { generateKeyPairSync, verify } from 'node:crypto'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { BatchSigner, readPlace } from '../../../core/crypto/batch-signer.ts'
import { leafHash } from '../../../core/crypto/merkle.ts'
import { signingKeyOf } from '../../../core/crypto/signing-key.ts'
import { NaiveTree } from '../ledger/transparency/naive.ts'

describe('the batch signer', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = signingKeyOf(privateKey)
  const textsOf = (count: number) => Array.from({ length: count }, (_, n) => `t${n}é`)
  const signAll = (
    texts: readonly string[],
    signer = new BatchSigner(
      () => key,
      (_, root) => root,
    ),
  ) => Promise.all(texts.map((text) => signer.sign(text)))

  it('gives each text of a turn its path (RFC 6962) to one signed root', () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 70 }), async (count) => {
        const texts = textsOf(count)
        const tree = new NaiveTree(texts.map((text) => Buffer.from(text)))
        const signed = await signAll(texts)
        for (const [index, { place, signature }] of signed.entries()) {
          expect(readPlace(place)).to.deep.equal({
            index,
            size: count,
            path: tree.path(index, count),
          })
          expect(signature).to.equal(signed[0]!.signature)
        }
        expect(verify(null, tree.root(), publicKey, signed[0]!.signature)).to.equal(true)
      }),
      { numRuns: 30 },
    ))

  it('signs at most 1,024 texts together, so that a path has at most 10 hashes', async () => {
    const signed = await signAll(textsOf(1_500))
    const places = signed.map(({ place }) => readPlace(place)!)
    expect(new Set(places.map(({ size }) => size))).to.deep.equal(new Set([1_024, 476]))
    expect(Math.max(...places.map(({ path }) => path.length))).to.equal(10)
    expect(new Set(signed.map(({ signature }) => signature)).size).to.equal(2)
  })

  it('signs texts of different turns apart', async () => {
    const signer = new BatchSigner(
      () => key,
      (_, root) => root,
    )
    const [first] = await signAll(textsOf(1), signer)
    const [second] = await signAll(textsOf(1), signer)
    expect(second).to.deep.equal(first)
    expect(
      verify(null, leafHash(Buffer.from(textsOf(1)[0]!)), publicKey, first!.signature),
    ).to.equal(true)
  })

  it('rejects every text of a batch if the key fails, and signs the next batch', async () => {
    let isBroken = true
    const signer = new BatchSigner(
      () => {
        if (isBroken) throw new Error('no key')
        return key
      },
      (_, root) => root,
    )
    const failed = await Promise.allSettled(textsOf(3).map((text) => signer.sign(text)))
    expect(failed.map(({ status }) => status)).to.deep.equal(Array(3).fill('rejected'))
    isBroken = false
    expect(await signAll(textsOf(3), signer)).to.have.length(3)
  })
})
