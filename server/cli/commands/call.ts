import { open, writeFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import {
  type CallOptions,
  type HubResponse,
  newIdempotencyKey,
} from '../../../core/client/index.ts'
import type { Context } from '../context.ts'
import { Failure, toFailure } from '../failure.ts'
import { readNamedFile } from '../files.ts'
import { dollars } from '../terminal.ts'
import { parseDollars, parseQuery } from './arguments.ts'
import { createBuyer, PAYMENT_UNRESOLVED } from './buyer.ts'
import { resolveTarget, type Target } from './target.ts'

export interface CallFlags {
  readonly method?: string
  readonly data?: string
  readonly header?: readonly string[]
  readonly query?: readonly string[]
  readonly maxPrice?: string
  readonly acceptPayTo?: string
  readonly dryRun?: boolean
  readonly idempotencyKey?: string
  readonly pay?: string
  readonly keystore?: string
  readonly output?: string
  readonly include?: boolean
}

const LINE_END = 0x0a
/** One JSON value, unlike `application/x-ndjson`. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/

/** Calls a native service, a listing's URL, or a saved tool. */
export async function callCommand(context: Context, name: string, flags: CallFlags): Promise<void> {
  const { terminal } = context
  const body = await parseData(flags.data)
  const target = await resolveTarget(context, name, flags.method, body !== undefined)
  const maxPrice = flags.maxPrice ? parseDollars(flags.maxPrice) : context.settings.maxPrice
  const idempotencyKey = flags.idempotencyKey ?? newIdempotencyKey()
  const headers = parseHeaders(flags.header)
  const options = { maxPrice, idempotencyKey, dryRun: flags.dryRun === true, headers }
  await confirmPrice(context, target, options)
  const buyer = await createBuyer(context, flags)
  if (flags.output !== undefined && !flags.dryRun) await requireWritable(flags.output)
  const input = target.kind === 'native' ? nativeInput(target, flags.query, body) : body
  const work = buyer({ target, input, query: flags.query ?? [], options })
  const answer = await terminal
    .withSpinner(`Calling ${name}`, work)
    .catch((error: unknown) => Promise.reject(withRetryHint(error, idempotencyKey)))
  if (flags.dryRun) return terminal.result(answer.body, () => JSON.stringify(answer.body, null, 2))
  await printResponse(context, answer, flags, idempotencyKey)
}

/** Refuses a file that cannot be written, before anything is paid; creates it. */
async function requireWritable(path: string): Promise<void> {
  try {
    await (await open(path, 'a')).close()
  } catch (cause) {
    throw new Failure('usage', `Cannot write ${path}.`, undefined, { cause })
  }
}

/** Adds the idempotency key to an error, so that a retry is not charged twice. */
function withRetryHint(error: unknown, idempotencyKey: string): unknown {
  const failure = toFailure(error)
  if (!failure || failure.code === PAYMENT_UNRESOLVED) return failure ?? error
  const again = `Retry with --idempotency-key ${idempotencyKey}: it is charged once.`
  const hint = failure.kind === 'unreachable' ? again : undefined
  return failure.with({ idempotency_key: idempotencyKey }, hint)
}

/** Asks a person before a call that costs more than their usual limit. */
async function confirmPrice(
  { terminal, settings }: Context,
  { price }: Target,
  { maxPrice, dryRun }: Pick<CallOptions, 'maxPrice' | 'dryRun'>,
): Promise<void> {
  if (price === undefined || dryRun) return
  if (maxPrice !== undefined && price > maxPrice) {
    throw new Failure(
      'declined',
      `It costs ${dollars(price)}, and your limit is ${dollars(maxPrice)}. Nothing was paid.`,
      `Call again with --max-price ${dollars(price).slice(1)}`,
      { code: 'price_exceeds_max', details: { charged_microdollars: 0 } },
    )
  }
  if (price <= settings.confirmAbove) return
  const answer = await terminal.confirm(`It costs up to ${dollars(price)}. Call it?`)
  if (answer === false) throw new Failure('declined', 'Nothing was called or paid.')
}

async function printResponse(
  { terminal }: Context,
  answer: HubResponse,
  { output, include }: CallFlags,
  idempotencyKey: string,
): Promise<void> {
  const one = (name: string) => answer.headers[name]?.toString()
  const facts = {
    status: answer.status,
    charged_microdollars: Number(answer.charged),
    source: answer.source ?? null,
    call_id: answer.callId ?? null,
    idempotency_key: idempotencyKey,
    receipt: one('x-receipt') ?? null,
  }
  if (output !== undefined) {
    await writeFile(output, answer.bytes).catch((cause: unknown) => {
      throw new Failure('error', `Cannot write ${output}.`, undefined, { details: facts, cause })
    })
  }
  if (terminal.json) {
    const body = output === undefined ? bodyValue(answer) : { file: output }
    return terminal.result({ ...facts, body }, () => '')
  }
  if (include)
    for (const [name, value] of Object.entries(answer.headers))
      terminal.note(`${name}: ${String(value)}`)
  if (output === undefined) await terminal.raw(formatBody(answer))
  terminal.note(
    terminal.style('dim', `charged ${dollars(answer.charged)} (${answer.source ?? 'nothing'})`),
  )
}

/** Formats a body: indented JSON for people, unchanged bytes for programs. */
function formatBody(answer: HubResponse): Uint8Array {
  const { bytes } = answer
  if (!process.stdout.isTTY) return bytes
  const value = bodyValue(answer)
  if (typeof value !== 'string') return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return bytes.at(-1) === LINE_END ? bytes : Buffer.concat([bytes, Buffer.of(LINE_END)])
}

function bodyValue({ bytes, headers }: HubResponse): unknown {
  const text = bytes.toString('utf8')
  if (!JSON_TYPE.test(String(headers['content-type']))) return text
  try {
    return JSON.parse(text)
  } catch {
    return text // its service calls it JSON, and it is not
  }
}

/** Parses --data: `@file`, `-` for standard input, or the data itself, as JSON if it is. */
async function parseData(data: string | undefined): Promise<unknown> {
  if (data === undefined) return undefined
  const text =
    data === '-'
      ? await textOf(process.stdin)
      : data.startsWith('@')
        ? await readNamedFile(data.slice(1))
        : data
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parseHeaders(lines: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const split = line.indexOf(':')
      if (split < 1)
        throw new Failure('usage', `Not a header: ${line}`, "Such as -H 'Accept: text/csv'")
      return [line.slice(0, split).trim().toLowerCase(), line.slice(split + 1).trim()]
    }),
  )
}

/** Builds the input of a native call; a GET takes it from `--query` or the members of the data. */
function nativeInput({ method }: Target, query: readonly string[] = [], body: unknown): unknown {
  if (typeof body === 'string' && /^\s*[{[]/.test(body)) {
    const hint = `Quote it for the shell: -d '{"text":"…"}'; or from a file: -d @file.json`
    throw new Failure('usage', 'The data looks like JSON but is invalid.', hint)
  }
  if (method !== 'GET' && method !== 'DELETE') return body
  const members = typeof body === 'object' && body !== null ? body : {}
  return { ...members, ...parseQuery(query) }
}
