import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openWallets, WALLETS, type Wallets } from '../../../server/sandbox/wallets.ts'

describe('the sandbox wallets', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-wallets-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  const keys = (wallets: Wallets) => WALLETS.map((name) => wallets[name].key)
  const file = () => join(dataDir, 'sandbox-wallets.json')

  it('are random, one each, and stay the same', async () => {
    const first = keys(await openWallets(dataDir))
    expect(new Set(first).size).to.equal(WALLETS.length)
    expect(keys(await openWallets(dataDir))).to.deep.equal(first)
    expect(keys(await openWallets(join(dataDir, 'other')))).to.not.include.members([first[0]])
  })
  it('are readable to the owner only, also after somebody changed that', async () => {
    await openWallets(dataDir)
    await chmod(file(), 0o644)
    await openWallets(dataDir)
    expect((await stat(file())).mode & 0o777).to.equal(0o600)
  })
  it('are the same for processes that start at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => openWallets(dataDir)))
    expect(new Set(all.map((wallets) => keys(wallets).join())).size).to.equal(1)
    expect(await readdir(dataDir)).to.deep.equal(['sandbox-wallets.json'])
  })
  it('are not replaced when the file is damaged', async () => {
    for (const text of ['', '{', '[]', 'null', '{"treasury":"0x12"}']) {
      await writeFile(file(), text)
      const refused = await openWallets(dataDir).catch((error: unknown) => error)
      expect(String(refused), text).to.contain('unreadable')
    }
  })
})
