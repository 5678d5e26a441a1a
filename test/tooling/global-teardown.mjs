import { stopAfterRun } from '#test/support/dynamodb-local.ts'

/** Ends the DynamoDB Local that this run started, and no other. */
export default stopAfterRun
