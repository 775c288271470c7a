import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { expect } from 'chai'
import { Signer } from '../../../core/crypto/signer.ts'

/** Enough texts for a batch in the thread. */
const MANY = 20

describe('the signer', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const texts = Array.from({ length: MANY }, (_, n) => Buffer.from(`receipt ${n} ÿ`, 'latin1'))
  const signedBy = async (signer: Signer): Promise<boolean[]> => {
    const signatures = await Promise.all(texts.map((bytes) => signer.sign(bytes)))
    return texts.map((bytes, n) => verify(null, bytes, publicKey, signatures[n]!))
  }
  const all = texts.map(() => true)

  it('returns the signature of each text in a batch', async () => {
    expect(await signedBy(new Signer(privateKey))).to.deep.equal(all)
  })

  it('signs inline if the thread does not work', async () => {
    // A key with a function cannot be sent to a thread.
    const stuck = { key: privateKey, stays: () => {} } as unknown as KeyObject
    const signer = new Signer(stuck)
    expect(await signedBy(signer)).to.deep.equal(all)
    expect(await signedBy(signer), 'second batch').to.deep.equal(all)
  })
})
