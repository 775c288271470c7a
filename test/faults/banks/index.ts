import type { Bank } from '../bank/bank.ts'
import { type LedgerSpec, ledgerBank } from './ledger.ts'
import { type SimpleSpec, simpleBank } from './simple.ts'

/** Serializable description of a bank, for opening it in another process. */
export type BankSpec = LedgerSpec | SimpleSpec

export const openBank = (spec: BankSpec): Bank =>
  spec.bank === 'ledger' ? ledgerBank(spec) : simpleBank(spec)
