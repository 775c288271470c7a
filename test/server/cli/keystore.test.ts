import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { decryptKey, encryptKey, type Keystore } from '../../../server/cli/keystore.ts'

const PASSWORD = 'correct horse'

describe('a version 3 keystore', () => {
  const key = generatePrivateKey()
  let file: Keystore
  before(async () => {
    file = await encryptKey(key, PASSWORD)
  })

  it('is read in the spelling and with the cost of other programs', async () => {
    const { crypto, ...rest } = file
    expect(await decryptKey({ ...rest, Crypto: crypto }, PASSWORD)).to.equal(key)
    const other = await failure({ ...rest, crypto: { ...crypto, kdf: 'pbkdf2' } }, PASSWORD)
    expect(other).to.match(/Not a keystore of version 3 with scrypt/)
  })

  it('contains the key, encrypted', async () => {
    expect(JSON.stringify(file)).to.not.include(key.slice(2))
    expect(file.address).to.equal(privateKeyToAddress(key).slice(2).toLowerCase())
    expect(await decryptKey(file, PASSWORD)).to.equal(key)
  })

  it('opens only with its password and only if unchanged', async () => {
    expect(await failure(file, 'correct horze')).to.match(/password of the wallet is wrong/)
    const changed = { ...file, crypto: { ...file.crypto, ciphertext: '00'.repeat(32) } }
    expect(await failure(changed, PASSWORD)).to.match(/password of the wallet is wrong/)
  })

  it('is refused if decryption would exhaust memory', async () => {
    const kdfparams = { ...file.crypto.kdfparams, n: 2 ** 30 }
    const greedy = { ...file, crypto: { ...file.crypto, kdfparams } }
    expect(await failure(greedy, PASSWORD)).to.match(/Not a keystore/)
  })
})

const failure = (file: unknown, password: string): Promise<unknown> =>
  decryptKey(file, password).catch((error: unknown) => (error as Error).message)
