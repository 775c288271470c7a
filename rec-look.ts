import { readFileSync } from 'node:fs'
import { deserialize } from 'node:v8'
import { checkRecovery } from './test/faults/recovery/checker.ts'
import { RequestLog } from './test/faults/recovery/request-log.ts'
const [name, ...words] = process.argv.slice(2)
const log = new RequestLog(`/tmp/rec-${name}.ndjson`).read()
const facts: any = deserialize(readFileSync(`/tmp/rec-${name}.facts`))
for (const w of words) {
  const r = log.requests.find((q) => q.id === w || q.payment?.nonce === w || q.attempts.some((a) => a.headers?.['x-call-id'] === w || a.body?.['call_id'] === w))!
  const { attempts, ...rest } = r
  console.log(JSON.stringify(rest))
  const t0 = attempts[0]!.sentAt
  let last = ''
  attempts.forEach((a, i) => { const d = `${a.status ?? a.error} ${a.body?.['code'] ?? ''}`; if (d !== last || i === attempts.length - 1) { console.log(i, ((a.sentAt - t0) / 1000).toFixed(1), ((a.endedAt! - a.sentAt) / 1000).toFixed(1), d, JSON.stringify({ h: Object.fromEntries(Object.entries(a.headers ?? {}).filter(([k]) => /charged|call-id|replay|payment-resp|retry|source/.test(k))), b: a.body }).slice(0, 900)); const rc = a.headers?.['x-receipt']; if (rc) console.log('   receipt', Buffer.from(rc.split('.')[1]!, 'base64url').toString()) } last = d })
  const ids = new Set(attempts.flatMap((a) => [a.headers?.['x-call-id'], a.body?.['call_id']]).filter(Boolean))
  for (const id of ids) console.log('  view', JSON.stringify(facts.calls.get(id)), 'entries', facts.database.entries.filter((e: any) => e.id === id), 'intent', facts.database.intents.find((i: any) => i.call === id))
  console.log('  fault', log.faults.filter((f) => f.begunAt < attempts.at(-1)!.endedAt! && f.backAt > t0 - 20000).map((f) => f.name))
}
process.exit(0)
