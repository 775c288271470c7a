import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { PERMIT2_ADDRESS, x402UptoPermit2ProxyAddress } from '@x402/evm'
import { elapsedMs, sleep, systemClock, withTimeout } from '../../core/clock.ts'
import { processStartTime } from '../../core/db/lock.ts'
import { type Asset, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { MULTICALL3 } from '../../core/payments/chain/identity.ts'
import { type ManagedProcess, startManagedProcess } from '../../core/runtime/managed-process.ts'
import { freePort } from '../../core/runtime/net.ts'
import contracts from './contracts/contracts.artifact.json' with { type: 'json' }
import { callRpc } from './rpc.ts'

export interface SandboxChain {
  readonly rpcUrl: string
  readonly pid: number
  /** Writes the state to the data directory and stops the chain. */
  stop(): Promise<void>
}

export interface ChainOptions {
  /** Directory of the state file `chain.json`; created if missing. */
  readonly dataDir: string
  /** Port on 127.0.0.1; 0 picks a free one. */
  readonly port: number
  /** Token of the chain, whose id and address it has. @defaultValue USDC on Base */
  readonly asset?: Asset
  /** Number of the first block of a new chain. @defaultValue 0 */
  readonly firstBlock?: bigint
  /** Reports that the chain died or lost its state. */
  readonly log?: (text: string) => void
}

/** Failure to start the chain; the message says why and what to do. */
export class ChainStartError extends Error {
  override readonly name = 'ChainStartError'
}

const FLAGS = [
  ['--host', '127.0.0.1'],
  // A block per payment, and one every two seconds, because the clock of an idle chain is old.
  ['--block-time', '2', '--mixed-mining'],
  // No well-known development keys: the wallets are random (wallets.ts).
  ['--accounts', '0'],
  // Without pruning, every block writes some 350 kB to the home directory, 15 GB a day. With no
  // history at all, a query that races a new block fails, and a valid payment with it.
  ['--prune-history', '64'],
  ['--silent'],
].flat()
const READY_MS = 15_000
const POLL_MS = 5
const LAUNCH_ATTEMPTS = 3

/**
 * Starts a chain that resembles Base, or another network, with test USDC at the real address.
 * Continues from the state of the last one in this data directory. Terminated when this process
 * exits, even on SIGKILL.
 * @throws ChainStartError if there is no anvil for this platform, or it does not start
 */
export async function startChain(options: ChainOptions): Promise<SandboxChain> {
  const { log = () => {} } = options
  const dataDir = resolve(options.dataDir)
  await mkdir(dataDir, { recursive: true })
  const program = anvilProgram()
  const pidFile = join(dataDir, 'chain.pid')
  await waitForPredecessor(pidFile)
  const files = await locateState(dataDir, log)
  const { kept, rpcUrl } = await launchAnvil(program, options, files)
  await writeFile(pidFile, `${kept.pid} ${await processStartTime(kept.pid)}`)
  const watch = logUnexpectedExit(kept, log)
  return {
    rpcUrl,
    pid: kept.pid,
    async stop() {
      watch.stopping = true
      await withTimeout(QUIESCE_MS, mineLastBlock(rpcUrl))
      await kept.stop()
      await adoptState(files)
      await rm(pidFile, { force: true })
    },
  }
}

/** A chain that does not respond is stopped as it is. */
const QUIESCE_MS = 2_000

/**
 * Mines what is pending, and nothing afterwards. If anvil mines a block while it writes its state,
 * the file may have the balances of that block without its transactions and logs.
 */
async function mineLastBlock(rpcUrl: string): Promise<void> {
  try {
    await callRpc(rpcUrl, 'evm_setAutomine', [false])
    await callRpc(rpcUrl, 'evm_setIntervalMining', [0])
    await callRpc(rpcUrl, 'evm_mine', [])
  } catch {
    // It is stopped in any case.
  }
}

/**
 * Moves the state of a stopped chain aside, so that the next start begins a new chain.
 * @returns the new name of its directory; undefined if there was none
 */
export async function archiveChain(dataDir: string): Promise<string | undefined> {
  if (!(await exists(dataDir))) return undefined
  const archive = `${dataDir}-until-${systemClock.now().toISOString().replaceAll(/[-:.]/g, '')}`
  await rename(dataDir, archive)
  return archive
}

/** Longer than a killed hub leaves its chain: `startManagedProcess` kills it after ten seconds. */
const PREDECESSOR_MS = 12_000

/** Waits until the chain of a killed hub has written its state and ended. */
async function waitForPredecessor(pidFile: string): Promise<void> {
  const [pid = '', start] = (await readFile(pidFile, 'utf8').catch(() => '')).split(' ')
  const isAlive = async () => start !== undefined && start === (await processStartTime(Number(pid)))
  for (const end = elapsedMs() + PREDECESSOR_MS; elapsedMs() < end; await sleep(POLL_MS)) {
    if (!(await isAlive())) return
  }
}

/** State files: anvil writes `next` when it exits, so that an interrupted write spoils nothing. */
interface StateFiles {
  readonly state: string
  readonly next: string
  readonly hasState: boolean
}

async function locateState(dataDir: string, log: (text: string) => void): Promise<StateFiles> {
  const state = join(dataDir, 'chain.json')
  const files = { state, next: join(dataDir, 'chain.next.json') }
  await adoptState(files)
  if (!(await exists(state))) return { ...files, hasState: false }
  if (await isComplete(state)) return { ...files, hasState: true }
  await rename(state, `${state}.broken`)
  log(`The state of the sandbox chain is unreadable; it was moved to ${state}.broken`)
  return { ...files, hasState: false }
}

/** Adopts the state that the last chain wrote, even if the hub was killed before. */
async function adoptState({ state, next }: Omit<StateFiles, 'hasState'>): Promise<void> {
  if (await isComplete(next)) await rename(next, state)
  else await rm(next, { force: true })
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const isComplete = (path: string): Promise<boolean> =>
  readFile(path, 'utf8').then(
    (text) => text.trimEnd().endsWith('}') && 'block' in JSON.parse(text),
    () => false,
  )

function anvilProgram(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`
  try {
    const wrapper = createRequire(import.meta.resolve('@foundry-rs/anvil/package.json'))
    return wrapper.resolve(`${name}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`)
  } catch (cause) {
    throw new ChainStartError(
      `The sandbox chain needs the package ${name}, which is not installed. ` +
        'Run "npm install" without --omit=optional, or set RPC_URL to a node of your own.',
      { cause },
    )
  }
}

/** Starts anvil; tries another port if the free one was taken meanwhile. */
async function launchAnvil(
  program: string,
  { port: requestedPort, firstBlock = 0n, asset = USDC_BASE }: ChainOptions,
  { state, next, hasState: exists }: StateFiles,
): Promise<{ kept: ManagedProcess; rpcUrl: string }> {
  const begin = exists ? ['--load-state', state] : ['--number', String(firstBlock)]
  const files = ['--dump-state', next, ...begin, '--chain-id', String(asset.chainId)]
  for (let tries = 1; ; tries++) {
    const port = requestedPort === 0 ? await freePort() : requestedPort
    const rpcUrl = `http://127.0.0.1:${port}`
    if (await isReachable(rpcUrl))
      throw new ChainStartError(`Port ${port} is taken by another chain.`)
    const kept = startManagedProcess(program, [...FLAGS, '--port', String(port), ...files])
    if (await waitUntilReady(kept, rpcUrl, asset)) return { kept, rpcUrl }
    await kept.stop(0)
    if (requestedPort !== 0 || tries === LAUNCH_ATTEMPTS) {
      throw new ChainStartError(
        `The sandbox chain did not start on port ${port}. anvil said:\n${kept.tail()}`,
      )
    }
  }
}

async function waitUntilReady(
  kept: ManagedProcess,
  rpcUrl: string,
  asset: Asset,
): Promise<boolean> {
  const ended = kept.exited.then(
    () => true,
    () => true,
  )
  const deadline = elapsedMs() + READY_MS
  while (elapsedMs() < deadline) {
    if (await isReachable(rpcUrl)) {
      await deployContracts(rpcUrl, asset)
      return true
    }
    if (await Promise.race([ended, sleep(POLL_MS).then(() => false)])) return false
  }
  return false
}

const isReachable = (rpcUrl: string): Promise<boolean> =>
  callRpc(rpcUrl, 'eth_chainId', []).then(
    () => true,
    () => false,
  )

async function deployContracts(rpcUrl: string, { address }: Asset): Promise<void> {
  await callRpc(rpcUrl, 'anvil_setCode', [address, contracts.DevUSDC.deployed])
  // Libraries call it to find out why a payment is invalid.
  await callRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, contracts.MiniMulticall3.deployed])
  // Payments of at most an amount (x402 scheme `upto`) go through them.
  await callRpc(rpcUrl, 'anvil_setCode', [PERMIT2_ADDRESS, contracts.Permit2.deployed])
  const proxy = contracts.UptoPermit2Proxy.deployed
  await callRpc(rpcUrl, 'anvil_setCode', [x402UptoPermit2ProxyAddress, proxy])
}

function logUnexpectedExit(
  kept: ManagedProcess,
  log: (text: string) => void,
): { stopping: boolean } {
  const watch = { stopping: false }
  const report = (how: number | Error): void => {
    if (!watch.stopping) log(`The sandbox chain ended unexpectedly (${how}). ${kept.tail()}`)
  }
  kept.exited.then(report, report)
  return watch
}
