import type { Transaction } from 'agenthub/plugin'
import { type HashedNotice, isSameProcedure, namesOf, referencesOf } from '../domain/tracks.ts'
import type { Notice } from '../model.ts'

/** A stored notice and its current family. */
export interface Member extends HashedNotice {
  readonly family: bigint
  readonly snapshot: bigint
}

interface Row {
  readonly notice: Notice
  readonly family: bigint
  readonly snapshot: bigint
  readonly sha256: Buffer
}

/**
 * Finds the families that new notices create or join: those they refer to, that refer to them, or
 * that share their procedure. Families connected by a notice are merged.
 * @returns all notices of each, including new ones; and every affected family, including emptied
 * ones
 */
export async function familiesOf(
  transaction: Transaction,
  arrived: readonly Omit<Member, 'family'>[],
): Promise<{
  readonly families: ReadonlyMap<bigint, readonly Member[]>
  readonly touched: readonly bigint[]
}> {
  const known = await relatives(
    transaction,
    arrived.map(({ notice }) => notice),
  )
  const numbers = new Set(arrived.map(({ notice }) => notice.number))
  const old = known.filter(({ notice }) => !numbers.has(notice.number))
  const groups = new Groups(known)
  const index = new Index()
  for (const member of old) index.add(member.notice)
  for (const { notice } of arrived) {
    for (const other of index.related(notice)) groups.join(notice.number, other)
    index.add(notice)
  }
  const fresh = groups.rootsWithoutFamily(arrived.map(({ notice }) => notice.number))
  const { rows } = await transaction.query<{ id: bigint }>(
    'INSERT INTO family SELECT FROM generate_series(1, $1) RETURNING id',
    [fresh.length],
  )
  const made = new Map(fresh.map((root, at) => [root, rows[at]!.id] as const))
  const familyOf = (number: string): bigint =>
    groups.family(number) ?? made.get(groups.root(number))!
  const families = new Map<bigint, Member[]>()
  for (const member of [...old, ...arrived]) {
    const family = familyOf(member.notice.number)
    families.set(family, [...(families.get(family) ?? []), { ...member, family }])
  }
  const touched = [...new Set([...known.map(({ family }) => family), ...families.keys()])]
  return { families, touched }
}

/** Reads all notices of possibly affected families. */
async function relatives(transaction: Transaction, notices: readonly Notice[]): Promise<Member[]> {
  const refers = [...new Set(notices.flatMap(referencesOf))]
  const { rows } = await transaction.query<Row>(
    `SELECT n.notice, n.family, n.snapshot, n.sha256 FROM notice n WHERE n.family IN (
       SELECT family FROM notice WHERE number = ANY ($1)
       UNION SELECT family FROM notice WHERE notice_id = ANY ($2)
       UNION SELECT family FROM notice WHERE procedure_id = ANY ($3)
       UNION SELECT family FROM notice WHERE refers && $4)`,
    [
      [...notices.map(({ number }) => number), ...refers],
      [...notices.flatMap(({ noticeId }) => noticeId ?? []), ...refers.flatMap(uuidOf)],
      notices.flatMap(({ procedureId }) => procedureId ?? []),
      notices.flatMap(namesOf),
    ],
  )
  return rows.map((row) => ({ ...row, sha256: row.sha256.toString('hex') }))
}

const UUID_LENGTH = 36
const uuidOf = (reference: string): string[] =>
  reference.length > UUID_LENGTH ? [reference.slice(0, UUID_LENGTH)] : []

/** Finds notices related to a given one among those added. */
class Index {
  readonly #byName = new Map<string, string[]>()
  readonly #byReference = new Map<string, string[]>()
  readonly #byNoticeId = new Map<string, string[]>()
  readonly #byProcedure = new Map<string, Notice[]>()

  add(notice: Notice): void {
    const { number, noticeId, procedureId } = notice
    for (const name of namesOf(notice)) put(this.#byName, name, number)
    for (const name of referencesOf(notice)) put(this.#byReference, name, number)
    if (noticeId) put(this.#byNoticeId, noticeId, number)
    if (procedureId) put(this.#byProcedure, procedureId, notice)
  }

  related(notice: Notice): string[] {
    const procedure = this.#byProcedure.get(notice.procedureId ?? '') ?? []
    return [
      ...referencesOf(notice).flatMap((name) => this.#byName.get(name) ?? []),
      ...namesOf(notice).flatMap((name) => this.#byReference.get(name) ?? []),
      ...(this.#byNoticeId.get(notice.noticeId ?? '') ?? []),
      ...procedure.filter((other) => isSameProcedure(notice, other)).map(({ number }) => number),
    ]
  }
}

const put = <T>(map: Map<string, T[]>, key: string, value: T): void => {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

/** Disjoint sets of publication numbers; a set keeps the smallest family of its members. */
class Groups {
  readonly #parent = new Map<string, string>()
  readonly #family = new Map<string, bigint>()

  constructor(members: readonly Member[]) {
    const first = new Map<bigint, string>()
    for (const { family, notice } of members) {
      const representative = first.get(family)
      if (representative === undefined) {
        first.set(family, notice.number)
        this.#family.set(notice.number, family)
      } else this.join(representative, notice.number)
    }
  }

  root(number: string): string {
    let root = number
    for (let next = this.#parent.get(root); next !== undefined; next = this.#parent.get(root)) {
      root = next
    }
    if (root !== number) this.#parent.set(number, root)
    return root
  }

  family(number: string): bigint | undefined {
    return this.#family.get(this.root(number))
  }

  join(a: string, b: string): void {
    const [into, from] = [this.root(a), this.root(b)]
    if (into === from) return
    const families = [this.#family.get(into), this.#family.get(from)].filter((f) => f !== undefined)
    this.#parent.set(from, into)
    const [least] = families.sort((x, y) => (x < y ? -1 : 1))
    if (least !== undefined) this.#family.set(into, least)
  }

  rootsWithoutFamily(numbers: readonly string[]): string[] {
    const roots = numbers.map((number) => this.root(number))
    return [...new Set(roots)].filter((root) => !this.#family.has(root))
  }
}
