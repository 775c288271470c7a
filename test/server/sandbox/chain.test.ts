import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { sleep, systemClock } from '../../../core/clock.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { openChain } from '../../../core/payments/chain/chain.ts'
import { freePort } from '../../../core/runtime/net.ts'
import { ChainStartError, startChain } from '../../../server/sandbox/chain.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { eventually } from '../../support/eventually.ts'

const SOMEBODY = '0x00000000000000000000000000000000000000b0'
const chainModule = new URL('../../../server/sandbox/chain.ts', import.meta.url).href
const HUB = `
  const { startChain } = await import(process.argv[1])
  const { rpcUrl, pid } = await startChain({ dataDir: process.argv[2], port: 0 })
  process.stdout.write(JSON.stringify({ rpcUrl, pid }))
  setInterval(() => {}, 1000)
`

describe('the sandbox chain', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-chain-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  const view = (rpcUrl: string) => openChain({ rpcUrl, network: USDC_BASE.network })
  const answers = (rpcUrl: string) =>
    callRpc(rpcUrl, 'eth_chainId', []).then(
      () => true,
      () => false,
    )

  it('begins as chain 8453 with an empty USDC', async () => {
    const chain = await startChain({ dataDir, port: 0 })
    expect(await callRpc(chain.rpcUrl, 'eth_chainId', [])).to.equal('0x2105')
    expect(await callRpc(chain.rpcUrl, 'eth_accounts', [])).to.deep.equal([])
    expect(await view(chain.rpcUrl).balanceOf(SOMEBODY)).to.equal(0n)
    await chain.stop()
    expect(await answers(chain.rpcUrl)).to.equal(false)
  })
  it('goes on where it stopped, with the time of now', async () => {
    const first = await startChain({ dataDir, port: 0 })
    await fund(first.rpcUrl, SOMEBODY, { usdc: 1_234_567n, wei: 5n })
    const { number } = await view(first.rpcUrl).head()
    await first.stop()
    expect(await readdir(dataDir)).to.deep.equal(['chain.json'])
    const second = await startChain({ dataDir, port: 0 })
    await fund(second.rpcUrl, SOMEBODY, { usdc: 1n })
    const hub = view(second.rpcUrl)
    expect(await hub.balanceOf(SOMEBODY)).to.equal(1_234_568n)
    expect(await callRpc(second.rpcUrl, 'eth_getBalance', [SOMEBODY, 'latest'])).to.equal('0x5')
    const newest = await hub.head()
    expect(newest.number > number).to.equal(true)
    const now = systemClock.now().getTime()
    expect(Math.abs(now - newest.time.getTime())).to.be.below(30_000)
    await second.stop()
  })
  it('keeps its clock while nobody uses it', async () => {
    const chain = await startChain({ dataDir, port: 0 })
    const before = await view(chain.rpcUrl).blockTime()
    await eventually(async () => (await view(chain.rpcUrl).blockTime()) > before)
    await chain.stop()
  })
  const startInHub = async () => {
    const hub = spawn(
      process.execPath,
      ['--input-type=module', '-e', HUB, '--', chainModule, dataDir],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [printed] = await once(hub.stdout, 'data')
    return { hub, ...(JSON.parse(String(printed)) as { rpcUrl: string; pid: number }) }
  }
  it('dies with a hub that is killed, and keeps what it had', async () => {
    const { hub, rpcUrl } = await startInHub()
    await fund(rpcUrl, SOMEBODY, { usdc: 42n })
    hub.kill('SIGKILL')
    await once(hub, 'exit')
    await eventually(async () => !(await answers(rpcUrl)))
    const next = await startChain({ dataDir, port: 0 })
    expect(await view(next.rpcUrl).balanceOf(SOMEBODY)).to.equal(42n)
    await next.stop()
  })
  it('waits for the state of a killed hub, however long its chain takes to write it', async () => {
    const { hub, rpcUrl, pid } = await startInHub()
    await fund(rpcUrl, SOMEBODY, { usdc: 42n })
    process.kill(pid, 'SIGSTOP')
    hub.kill('SIGKILL')
    await once(hub, 'exit')
    const starting = startChain({ dataDir, port: 0 })
    await sleep(500)
    process.kill(pid, 'SIGCONT')
    const next = await starting
    expect(await view(next.rpcUrl).balanceOf(SOMEBODY)).to.equal(42n)
    await next.stop()
  })
  it('starts afresh from a state that was cut short, and says where it put it', async () => {
    const messages: string[] = []
    await writeFile(join(dataDir, 'chain.json'), '{"block":{"num')
    const chain = await startChain({ dataDir, port: 0, log: (text) => messages.push(text) })
    await chain.stop()
    expect(messages.join()).to.contain('chain.json.broken')
    expect(await readFile(join(dataDir, 'chain.json.broken'), 'utf8')).to.equal('{"block":{"num')
  })
  it('says when it dies', async () => {
    const messages: string[] = []
    const chain = await startChain({ dataDir, port: 0, log: (text) => messages.push(text) })
    process.kill(chain.pid, 'SIGKILL')
    await eventually(() => messages.length > 0)
    expect(messages.join()).to.contain('ended unexpectedly')
    await chain.stop()
  })
  it('listens on the given port, and refuses one that is in use', async () => {
    const port = await freePort()
    const chain = await startChain({ dataDir, port })
    expect(chain.rpcUrl).to.equal(`http://127.0.0.1:${port}`)
    const other = join(dataDir, 'other')
    const second = await startChain({ dataDir: other, port }).catch((error: unknown) => error)
    expect(second).to.be.instanceOf(ChainStartError)
    await chain.stop()
  })
  it('says which package is missing on a platform without anvil', async () => {
    const { arch } = process
    Object.defineProperty(process, 'arch', { value: 'mips' })
    const refused = await startChain({ dataDir, port: 0 }).catch((error: unknown) => error)
    Object.defineProperty(process, 'arch', { value: arch })
    expect(refused).to.be.instanceOf(ChainStartError)
    expect(String(refused)).to.match(/@foundry-rs\/anvil-\w+-mips.*npm install/)
  })
})
