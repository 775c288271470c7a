export {
  type CallProof,
  type EntryProof,
  type HeadsProof,
  type ProvenCall,
  verifyCallProof,
} from './call-proof.ts'
export { type FetchText, fetchLogProof } from './fetch-log-proof.ts'
export {
  type LogProof,
  type ProvenLog,
  type SignedRoot,
  verifyLogProof,
  verifyRoot,
} from './log-proof.ts'
export { ProofError, type VerifiedReceipt, verifyReceipt } from './receipt.ts'
export { type Cosignature, verifyCosignatures, type WitnessPolicy } from './witness.ts'
