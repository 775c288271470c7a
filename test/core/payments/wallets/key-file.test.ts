import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { openWallet } from '../../../../core/payments/wallets/open-wallet.ts'

const KEY = generatePrivateKey()
const { address } = privateKeyToAccount(KEY)

describe('a wallet key in a file', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-key-'))
    path = join(folder, 'spend-key')
    await writeFile(path, `${KEY}\n`, { mode: 0o600 })
  })
  afterEach(() => rm(folder, { recursive: true }))

  const open = (expected?: `0x${string}`) =>
    openWallet('SPEND_WALLET', { kind: 'file', path, address: expected }).then(
      (wallet) => wallet.address,
      ({ name, message }: Error) => `${name}: ${message}`,
    )

  for (const mode of [0o600, 0o400]) {
    it(`opens with the rights ${mode.toString(8)}`, async () => {
      await chmod(path, mode)
      expect(await open()).to.equal(address)
      expect(await open(address)).to.equal(address)
    })
  }

  for (const mode of [0o644, 0o640, 0o604, 0o610, 0o777]) {
    it(`A184 is refused with the rights ${mode.toString(8)}, which let others use it`, async () => {
      await chmod(path, mode)
      const refused = await open()
      expect(refused).to.include('ConfigError: SPEND_WALLET_KEY_FILE: others may use')
      expect(refused).to.include(`chmod 0400 ${path}`)
    })
  }

  it('A184 is refused if it belongs to another user', async function () {
    if (process.getuid?.() !== 0) return this.skip()
    await chown(path, 65_534, 65_534)
    expect(await open()).to.include('belongs to user 65534. Give it to user 0.')
  })

  it('is refused without showing its contents', async () => {
    for (const text of ['', 'secret words', `${KEY}00`, KEY.slice(2), 'x'.repeat(10_000)]) {
      await writeFile(path, text)
      const refused = await open()
      expect(refused).to.include('does not contain a private key')
      expect(refused).not.to.include(KEY.slice(2, 20)).and.not.to.include('words')
    }
    await rm(path)
    expect(await open()).to.include('cannot be read (ENOENT)')
  })

  it('is refused if it is the key of another address', async () => {
    const other = privateKeyToAccount(generatePrivateKey()).address
    expect(await open(other)).to.include(`contains the key of ${address}, not of SPEND_WALLET`)
  })
})
