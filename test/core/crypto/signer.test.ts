import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { expect } from 'chai'
import { Signer } from '../../../core/crypto/signer.ts'

/** As many as are signed by a thread, and more. */
const MANY = 20

describe('the signer', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const texts = Array.from({ length: MANY }, (_, n) => Buffer.from(`receipt ${n} ÿ`, 'latin1'))
  const signedBy = async (signer: Signer): Promise<boolean[]> => {
    const signatures = await Promise.all(texts.map((bytes) => signer.sign(bytes)))
    return texts.map((bytes, n) => verify(null, bytes, publicKey, signatures[n]!))
  }
  const all = texts.map(() => true)

  it('gives each text its own signature, however many come at once', async () => {
    expect(await signedBy(new Signer(privateKey))).to.deep.equal(all)
  })

  it('signs by itself where no thread can be had', async () => {
    // A key that signs here, and cannot be sent to a thread: a function is not copied.
    const stuck = { key: privateKey, stays: () => {} } as unknown as KeyObject
    const signer = new Signer(stuck)
    expect(await signedBy(signer)).to.deep.equal(all)
    expect(await signedBy(signer), 'and goes on').to.deep.equal(all)
  })
})
