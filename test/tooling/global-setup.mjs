import { startForRun } from '#test/support/dynamodb-local.ts'

/** One DynamoDB Local for the whole run, unless DYNAMODB_ENDPOINT names one that runs already. */
export default startForRun
