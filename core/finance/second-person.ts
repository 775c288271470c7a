import { Fault } from '../errors.ts'

const REASONS: Readonly<Record<string, string>> = {
  same_person:
    'You are the person who proposed it. Linked wallets and accounts count as one person.',
  role_too_new:
    'Your role took effect after this was proposed. Somebody who held their role before must ' +
    'confirm it.',
  role_from_proposer:
    'Your role was granted by the proposer, directly or through others. Somebody with a role ' +
    'from another administrator must confirm it.',
  roles_from_one_person:
    'Your role and that of the proposer were granted by the same person, or by one of you. ' +
    'Another administrator must confirm one of these roles, or decide.',
}

/** Error for the result of `hub.second_person_fault`. */
export const secondPersonFault = (fault: string): Fault =>
  fault === 'not_found' || fault === 'own_account'
    ? new Fault(fault)
    : new Fault('second_person_required', REASONS[fault])
