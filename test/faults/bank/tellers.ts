import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import type { LedgerOutcome } from '../../../core/ledger/events.ts'
import type { BankSpec } from '../banks/index.ts'
import type { Step, Told } from './bank.ts'

export interface Question {
  readonly n: number
  readonly step: Step
}

/** Without outcome: the teller does not know. */
export interface Answer {
  readonly n: number
  readonly outcome?: LedgerOutcome
  readonly error?: string
}

const PROGRAM = new URL('./teller.ts', import.meta.url)
const AGAIN_MS = 20
/** Longer than any fault lasts. */
const ANSWER_MS = 300_000

/** Several processes that serve one bank. A try whose answer does not come goes to another one. */
export class Tellers {
  /** Answers that came; an acknowledgement each. */
  answers = 0
  kills = 0
  /** What no nemesis explains: tellers that ended by themselves, errors instead of answers. */
  readonly faults: string[] = []
  readonly #spec: BankSpec
  #tellers: Teller[]

  constructor(spec: BankSpec, count: number) {
    this.#spec = spec
    this.#tellers = Array.from({ length: count }, () => this.#hire())
  }

  /** Asks tellers, one after the other, until one answers; every try goes into `told`. */
  async ask(told: Told): Promise<void> {
    for (const deadline = elapsedMs() + ANSWER_MS; ; ) {
      if (elapsedMs() > deadline) throw new Error('no teller answered in time')
      const teller = this.#tellers[Math.floor(Math.random() * this.#tellers.length)]!
      const { outcome, error } = await teller.ask(told.step)
      if (error !== undefined) this.faults.push(error)
      if (outcome === undefined) {
        told.lost++
        await sleep(AGAIN_MS)
        continue
      }
      this.answers++
      if (outcome === 'applied') told.applied++
      else if (outcome === 'replayed') told.replayed++
      else told.refused.push(outcome)
      return
    }
  }

  /** SIGKILL of one of them, at random; another one takes its place. */
  async kill(): Promise<void> {
    const place = Math.floor(Math.random() * this.#tellers.length)
    const victim = this.#tellers[place]!
    this.#tellers[place] = this.#hire()
    await victim.kill()
    this.kills++
  }

  async dismiss(): Promise<void> {
    await Promise.all(this.#tellers.map((teller) => teller.kill()))
    this.#tellers = []
  }

  #hire(): Teller {
    return new Teller(this.#spec, (fault) => this.faults.push(fault))
  }
}

class Teller {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #asked = 0
  #gone = false
  #killed = false

  constructor(spec: BankSpec, fault: (text: string) => void) {
    this.#child = fork(PROGRAM, { serialization: 'advanced', execArgv: [], env: {} })
    this.#child.on('message', (answer: Answer) => {
      this.#waiting.get(answer.n)?.(answer)
      this.#waiting.delete(answer.n)
    })
    // Comes after the last message: what was answered before the end counts.
    this.#child.on('disconnect', () => {
      this.#gone = true
      for (const [n, resolve] of this.#waiting) resolve({ n })
      this.#waiting.clear()
    })
    this.#child.on('exit', (code, signal) => {
      if (!this.#killed) fault(`a teller ended by itself (${code ?? signal})`)
    })
    this.#child.on('error', () => {})
    this.#child.send(spec)
  }

  ask(step: Step): Promise<Answer> {
    const n = ++this.#asked
    if (this.#gone) return Promise.resolve({ n })
    return new Promise((resolve) => {
      this.#waiting.set(n, resolve)
      this.#child.send({ n, step } satisfies Question, (error) => {
        if (error) resolve({ n })
      })
    })
  }

  async kill(): Promise<void> {
    this.#killed = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }
}
