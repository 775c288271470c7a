import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { bytesToHex, type Hex, hashTypedData, numberToHex, recoverAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount, sign } from 'viem/accounts'
import { recoverMessageSigner, recoverSigner } from '../../../core/crypto/recover-signer.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'

/** Order of the curve, and of its field. */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const P = 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn

const KEYS = Array.from({ length: 5 }, generatePrivateKey)
const word = (value: bigint) => numberToHex(value, { size: 32 })
const byte = (value: number) => value.toString(16).padStart(2, '0')

/** Members of signatures at the edges of what is valid. */
const edge = fc.constantFrom(0n, 1n, 2n, N / 2n, N / 2n + 1n, N - 1n, N, N + 1n, P - N, P, P + 1n)
const number = fc.oneof(edge, fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }))
const hash = fc.oneof(edge, number).map(word)
const v = fc.oneof(fc.constantFrom(0, 1, 27, 28), fc.integer({ min: 0, max: 255 }))

const viem = (signed: Hex, signature: Hex): Promise<string | undefined> =>
  recoverAddress({ hash: signed, signature }).then(
    (address) => address.toLowerCase(),
    () => undefined,
  )
async function expectSame(signed: Hex, signature: Hex): Promise<void> {
  const [ours, theirs] = [await recoverSigner(signed, signature), await viem(signed, signature)]
  expect(ours, `${signed} ${signature}`).to.equal(theirs)
}

describe('the signer of a hash', () => {
  it('is the key that signed, whatever number ends the signature', async () => {
    const property = fc.asyncProperty(hash, fc.constantFrom(...KEYS), async (signed, key) => {
      const { r, s, yParity = 0 } = await sign({ hash: signed, privateKey: key })
      const signer = privateKeyToAccount(key).address.toLowerCase()
      for (const last of [yParity, 27 + yParity]) {
        const signature: Hex = `${r}${s.slice(2)}${byte(last)}`
        expect(await recoverSigner(signed, signature)).to.equal(signer)
      }
    })
    await fc.assert(property, { numRuns: 50 })
  })

  it('is the one that viem recovers from a changed signature, or nobody', async () => {
    const change = fc.constantFrom('high s', 'other v', 'other r', 'other s', 'other hash')
    const key = fc.constantFrom(...KEYS)
    const property = fc.asyncProperty(
      fc.record({ signed: hash, key, change, v, number, flips: fc.boolean() }),
      async ({ signed, key: privateKey, change: changed, flips, ...other }) => {
        const { r, s, yParity = 0 } = await sign({ hash: signed, privateKey })
        const parts = { signed, r, s, last: 27 + yParity }
        if (changed === 'high s') parts.s = word(N - BigInt(s))
        if (changed === 'other v') parts.last = other.v
        if (changed === 'other r') parts.r = word(other.number)
        if (changed === 'other s') parts.s = word(other.number)
        if (changed === 'other hash') parts.signed = word(other.number)
        if (flips) parts.last = parts.last === 27 ? 28 : 27
        await expectSame(parts.signed, `${parts.r}${parts.s.slice(2)}${byte(parts.last)}`)
      },
    )
    await fc.assert(property, { numRuns: 300 })
  })

  it('is the one that viem recovers from any bytes, also of 64 and 66', async () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 70 })
    const members = fc.tuple(number, number, v).map(([r, s, last]): Hex => {
      return `${word(r)}${word(s).slice(2)}${byte(last)}`
    })
    const compact = members.map((signature) => signature.slice(0, 130) as Hex)
    const longer = members.map((signature): Hex => `${signature}00`)
    const signatures = fc.oneof(
      members,
      compact,
      longer,
      bytes.map((each) => bytesToHex(each)),
    )
    await fc.assert(fc.asyncProperty(hash, signatures, expectSame), { numRuns: 300 })
    for (const text of ['0x', '', 'garbage', `0x${'zz'.repeat(65)}`])
      expect(await recoverSigner(bytesToHex(randomBytes(32)), text as Hex)).to.equal(undefined)
  })
})

describe('the signer of a message', () => {
  const account = privateKeyToAccount(KEYS[0]!)

  it('is the wallet that signed it by EIP-191, of any text', async () => {
    const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary' }))
    const property = fc.asyncProperty(texts, async (message) => {
      const signature = await account.signMessage({ message })
      expect(await recoverMessageSigner(message, signature)).to.equal(account.address.toLowerCase())
    })
    await fc.assert(property, { numRuns: 50 })
  })

  it('is the wallet that signed a transfer by EIP-712, by its hash', async () => {
    const { name, version, chainId, address: verifyingContract } = USDC_BASE
    const data = {
      domain: { name, version, chainId, verifyingContract },
      types: { Transfer: [{ name: 'value', type: 'uint256' }] },
      primaryType: 'Transfer',
      message: { value: 5n },
    } as const
    const signature = await account.signTypedData(data)
    const signer = await recoverSigner(hashTypedData(data), signature)
    expect(signer).to.equal(account.address.toLowerCase())
  })
})
