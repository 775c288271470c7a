import { setImmediate as breath } from 'node:timers/promises'
import type { Json } from '../caller-schema.ts'
import type { ConcurrencyLimit } from './concurrency-limit.ts'
import { EngineError } from './engine-error.ts'
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
import { isPortable, toPortableSchema } from './portable-schema.ts'
import { type Judgment, promptText, type Question } from './question.ts'
import { withRetries } from './retry.ts'
import { issuesOf } from './schema-issues.ts'
import type { ModelSettings } from './settings.ts'
import { type Spending, tokensOf } from './spending.ts'

/** Dependencies and limits for asking a model. */
export interface ModelSession {
  readonly settings: ModelSettings
  readonly model: Model
  readonly gate: ConcurrencyLimit
  readonly spending: Spending
  readonly signal: AbortSignal
}

/** A validated value; `dropped` counts the named items that the text does not contain. */
export interface ModelResult<T> {
  readonly value: T
  readonly dropped: number
}

/** Maximum characters of an invalid output that are quoted back to the model. */
const QUOTED_MAX = 4_000

/** Asks once more with the errors if the output is invalid. @throws EngineError, signal's reason */
export const askModel = async <T>(
  question: Question<T>,
  session: ModelSession,
): Promise<ModelResult<T>> => {
  const weak = toPortableSchema(question.schema)
  const outputs = outputModes(session.settings, weak)
  const first = await sendQuestion(question, weak, [], outputs, session)
  const judged = await judge(question, first)
  if ('value' in judged) return judged
  const again: readonly Message[] = [
    { role: 'assistant', text: first.text.slice(0, QUOTED_MAX) || '(nothing)' },
    { role: 'user', text: correctionRequest(judged.issues) },
  ]
  const answered = await sendQuestion(question, weak, again, outputs, session).catch(asBadOutput)
  const second = await judge(question, answered)
  if ('value' in second) return second
  throw new EngineError(
    'bad_output',
    `invalid output twice: ${second.issues.join('; ')}`.slice(0, 1_000),
  )
}

/** Reports the first output as invalid if the budget does not allow a second request. */
const asBadOutput = (error: unknown): never => {
  if (!(error instanceof EngineError) || error.reason !== 'over_budget') throw error
  throw new EngineError(
    'bad_output',
    'invalid output, and no budget for a second request',
    undefined,
    error,
  )
}

const correctionRequest = (issues: readonly string[]): string =>
  `That is not as it has to be. Answer once more, in full, as JSON alone. What was wrong:\n` +
  issues.map((issue) => `- ${issue}`).join('\n')

/** Output modes to try, from the configured one to the most lenient. */
const outputModes = ({ output, dialect }: ModelSettings, weak: Json): readonly Output[] => {
  const strictest = isPortable(weak) || output === 'text' ? output : 'json'
  return OUTPUTS.slice(OUTPUTS.indexOf(strictest)).filter(
    (one) => one !== 'flat-schema' || dialect === 'openai-chat',
  )
}

type ReplyWithCanary = Reply & { readonly canary: string }

/** Sends a question, falling back to a more lenient output mode if the server rejects one. */
const sendQuestion = async (
  question: Question<unknown>,
  weak: Json,
  more: readonly Message[],
  outputs: readonly Output[],
  session: ModelSession,
): Promise<ReplyWithCanary> => {
  for (const [index, output] of outputs.entries()) {
    const isEnforced = output === 'schema' || output === 'flat-schema'
    const { system, user, canary } = promptText(question, isEnforced ? undefined : weak)
    const messages: readonly Message[] = [{ role: 'user', text: user }, ...more]
    try {
      const prompt = { system, messages, output, schema: weak }
      return { ...(await send(prompt, question.expectedTokens, session)), canary }
    } catch (error) {
      const isLast = index === outputs.length - 1
      if (!(error instanceof ModelError) || isLast) throw asEngineError(error)
    }
  }
  throw new EngineError('unavailable', 'no output mode is supported')
}

/** Converts a rejection of every output mode to `unsupported`, which causes no cooldown. */
const asEngineError = (error: unknown): unknown =>
  error instanceof ModelError
    ? new EngineError('unsupported', error.message, undefined, error)
    : error

const send = async (
  prompt: Omit<Prompt, 'maxOutputTokens'>,
  expected: number,
  { settings, model, gate, spending, signal }: ModelSession,
): Promise<Reply> => {
  const input = tokensOf([prompt.system, ...prompt.messages.map(({ text }) => text)].join('\n'))
  const room = Math.min(settings.max_output_tokens, settings.context_tokens - input)
  if (room < Math.min(expected, settings.max_output_tokens)) {
    throw new EngineError('unsupported', 'the text is too long for the context of this model')
  }
  if (!spending.covers({ input, output: expected })) {
    throw new EngineError('over_budget', 'the call would exceed the maximum cost of this engine')
  }
  const maxOutputTokens = affordableTokens(room, expected, input, spending)
  const request = () => model({ ...prompt, maxOutputTokens }, signal)
  const reply = await gate
    .run(() => withRetries(request, signal), signal)
    .catch((error: unknown) => {
      // The input is billed even if the request is abandoned.
      const isLate = error instanceof EngineError && error.reason === 'timeout'
      if (isLate || signal.aborted) spending.add({ input, output: 0 }, true)
      throw error
    })
  const counted = reply.tokens ?? { input, output: tokensOf(reply.text) }
  spending.add(counted, reply.tokens === undefined)
  return reply
}

/** Largest number of output tokens that fits the budget. */
const affordableTokens = (
  room: number,
  expected: number,
  input: number,
  spending: Spending,
): number => {
  let most = room
  while (most > expected && !spending.covers({ input, output: most })) {
    most = Math.max(expected, Math.floor(most * 0.8))
  }
  return most
}

/** Validates a reply. Yields to the event loop between steps because replies may be long. */
const judge = async <T>(question: Question<T>, reply: ReplyWithCanary): Promise<Judgment<T>> => {
  if (reply.finish === 'refused') throw new EngineError('refused', 'the model refused')
  if (reply.finish === 'length') throw new EngineError('bad_output', 'the output was cut off')
  if (reply.text.includes(reply.canary)) {
    throw new EngineError('bad_output', 'the output reveals the prompt')
  }
  const value = jsonIn(reply.text)
  if (value === undefined) return { issues: ['it is not JSON'] }
  await breath()
  const issues = issuesOf(question.schema, value)
  await breath()
  return issues.length > 0 ? { issues } : question.judge(value)
}
