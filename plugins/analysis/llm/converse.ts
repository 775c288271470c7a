import { setImmediate as breath } from 'node:timers/promises'
import type { Json } from '../caller-schema.ts'
import { issuesOf } from './check.ts'
import type { Gate } from './gate.ts'
import {
  type Message,
  type Model,
  ModelError,
  OUTPUTS,
  type Output,
  type Prompt,
  type Reply,
} from './model.ts'
import { jsonIn } from './parse.ts'
import { type Judgement, type Question, wordingOf } from './question.ts'
import { withRetries } from './retry.ts'
import type { ModelSettings } from './settings.ts'
import { type Spending, tokensOf } from './spending.ts'
import { Trouble } from './trouble.ts'
import { isPortable, weaken } from './weaken.ts'

/** What a question is asked with. */
export interface Desk {
  readonly settings: ModelSettings
  readonly model: Model
  readonly gate: Gate
  readonly spending: Spending
  readonly signal: AbortSignal
}

/** What was understood, and how many things the model named that the text does not have. */
export interface Understood<T> {
  readonly value: T
  readonly dropped: number
}

/** Of a bad answer, shown to the model again. */
const SHOWN_MAX = 4_000

/**
 * Asks a model, and once more with what was wrong with its answer.
 * @throws Trouble, or the signal's reason
 */
export const converse = async <T>(question: Question<T>, desk: Desk): Promise<Understood<T>> => {
  const weak = weaken(question.schema)
  const outputs = outputsFor(desk.settings, weak)
  const first = await ask(question, weak, [], outputs, desk)
  const judged = await judge(question, first)
  if ('value' in judged) return judged
  const again: readonly Message[] = [
    { role: 'assistant', text: first.text.slice(0, SHOWN_MAX) || '(nothing)' },
    { role: 'user', text: complaintOf(judged.issues) },
  ]
  const answered = await ask(question, weak, again, outputs, desk).catch(notAgain)
  const second = await judge(question, answered)
  if ('value' in second) return second
  throw new Trouble('bad_output', `twice not as asked: ${second.issues.join('; ')}`.slice(0, 1_000))
}

/** What is not worth a second question was not worth the first answer. */
const notAgain = (error: unknown): never => {
  if (!(error instanceof Trouble) || error.reason !== 'over_budget') throw error
  throw new Trouble('bad_output', 'not as asked, and no budget to ask again', undefined, error)
}

const complaintOf = (issues: readonly string[]): string =>
  `That is not as it has to be. Answer once more, in full, as JSON alone. What was wrong:\n` +
  issues.map((issue) => `- ${issue}`).join('\n')

/** The forms of output to try, from the one that is configured on. */
const outputsFor = ({ output, dialect }: ModelSettings, weak: Json): readonly Output[] => {
  const strictest = isPortable(weak) || output === 'text' ? output : 'json'
  return OUTPUTS.slice(OUTPUTS.indexOf(strictest)).filter(
    (one) => one !== 'flat-schema' || dialect === 'openai-chat',
  )
}

type Answered = Reply & { readonly canary: string }

/** Sends a question, in a laxer form where the server does not know the stricter one. */
const ask = async (
  question: Question<unknown>,
  weak: Json,
  more: readonly Message[],
  outputs: readonly Output[],
  desk: Desk,
): Promise<Answered> => {
  for (const [index, output] of outputs.entries()) {
    const isEnforced = output === 'schema' || output === 'flat-schema'
    const { system, user, canary } = wordingOf(question, isEnforced ? undefined : weak)
    const messages: readonly Message[] = [{ role: 'user', text: user }, ...more]
    try {
      const prompt = { system, messages, output, schema: weak }
      return { ...(await send(prompt, question.expectedTokens, desk)), canary }
    } catch (error) {
      const isLast = index === outputs.length - 1
      if (!(error instanceof ModelError) || isLast) throw asTrouble(error)
    }
  }
  throw new Trouble('unavailable', 'no form of output is left')
}

/** A request that no form makes good is one for another engine; this one is none the worse. */
const asTrouble = (error: unknown): unknown =>
  error instanceof ModelError ? new Trouble('unsupported', error.message, undefined, error) : error

const send = async (
  prompt: Omit<Prompt, 'maxOutputTokens'>,
  expected: number,
  { settings, model, gate, spending, signal }: Desk,
): Promise<Reply> => {
  const input = tokensOf([prompt.system, ...prompt.messages.map(({ text }) => text)].join('\n'))
  const room = Math.min(settings.max_output_tokens, settings.context_tokens - input)
  if (room < Math.min(expected, settings.max_output_tokens)) {
    throw new Trouble('unsupported', 'the text is too long for the context of this model')
  }
  if (!spending.covers({ input, output: expected })) {
    throw new Trouble('over_budget', 'the call would cost more than this engine may')
  }
  const maxOutputTokens = affordable(room, expected, input, spending)
  const request = () => model({ ...prompt, maxOutputTokens }, signal)
  const reply = await gate
    .through(() => withRetries(request, signal), signal)
    .catch((error: unknown) => {
      // Who gives up waiting is billed for what was read.
      const isLate = error instanceof Trouble && error.reason === 'timeout'
      if (isLate || signal.aborted) spending.add({ input, output: 0 }, true)
      throw error
    })
  const counted = reply.tokens ?? { input, output: tokensOf(reply.text) }
  spending.add(counted, reply.tokens === undefined)
  return reply
}

/** As many tokens as fit into the budget, so that no answer can break it. */
const affordable = (room: number, expected: number, input: number, spending: Spending): number => {
  let most = room
  while (most > expected && !spending.covers({ input, output: most })) {
    most = Math.max(expected, Math.floor(most * 0.8))
  }
  return most
}

/** In three steps, between which others have their turn: an answer may be long. */
const judge = async <T>(question: Question<T>, reply: Answered): Promise<Judgement<T>> => {
  if (reply.finish === 'refused') throw new Trouble('refused', 'the model refused')
  if (reply.finish === 'length') throw new Trouble('bad_output', 'the answer was cut off')
  if (reply.text.includes(reply.canary)) {
    throw new Trouble('bad_output', 'the answer tells what it must not')
  }
  const value = jsonIn(reply.text)
  if (value === undefined) return { issues: ['it is not JSON'] }
  await breath()
  const issues = issuesOf(question.schema, value)
  await breath()
  return issues.length > 0 ? { issues } : question.judge(value)
}
