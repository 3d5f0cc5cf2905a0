"""The GraphQL documents of the board, one call each; held to GitHub's published schema by a contract test."""

# The board's own data, as `projects.shape_of` reads it.
_SHAPE = """
fragment Shape on ProjectV2 {
  id
  title
  fields(first: 50) {
    nodes {
      ... on ProjectV2FieldCommon { id name dataType }
      ... on ProjectV2SingleSelectField { options { id name description } }
    }
  }
}
"""

# An organisation's board or a person's: the same document reads both.
BOARD = f"""
query Board($owner: String!, $number: Int!) {{
  repositoryOwner(login: $owner) {{
    ... on ProjectV2Owner {{ projectV2(number: $number) {{ ...Shape }} }}
  }}
}}
{_SHAPE}"""

BOARDS = """
query Boards($owner: String!) {
  repositoryOwner(login: $owner) {
    ... on ProjectV2Owner {
      projectsV2(first: 100) { nodes { number title closed } }
    }
  }
}
"""

# Six connections cost one point of the hour, as the smallest document. Nothing below a card is a connection.
# Source: docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api.
SWEEP = (
    """
query Sweep(
  $owner: String!, $number: Int!, $homeOwner: String!, $homeName: String!, $filter: String!,
  $after0: String, $after1: String, $after2: String, $after3: String, $after4: String,
  $with1: Boolean!, $with2: Boolean!, $with3: Boolean!, $with4: Boolean!
) {
  home: repository(owner: $homeOwner, name: $homeName) { defaultBranchRef { target { oid } } }
  repositoryOwner(login: $owner) {
    ... on ProjectV2Owner {
      projectV2(number: $number) {
        ...Shape
        updatedAt
        page0: items(first: 100, after: $after0, query: $filter) { ...Cards }
        page1: items(first: 100, after: $after1, query: $filter) @include(if: $with1) { ...Cards }
        page2: items(first: 100, after: $after2, query: $filter) @include(if: $with2) { ...Cards }
        page3: items(first: 100, after: $after3, query: $filter) @include(if: $with3) { ...Cards }
        page4: items(first: 100, after: $after4, query: $filter) @include(if: $with4) { ...Cards }
      }
    }
  }
}

fragment Cards on ProjectV2ItemConnection {
  pageInfo { hasNextPage endCursor }
  edges {
    cursor
    node {
      id
      type
      updatedAt
      isArchived
      fieldValueByName(name: "Status") { ... on ProjectV2ItemFieldSingleSelectValue { name } }
      content { ... on Issue { state number repository { nameWithOwner } } }
    }
  }
}
"""
    + _SHAPE
)
SWEEP_PAGES = 5

CARD = """
query Card($cards: [ID!]!) {
  nodes(ids: $cards) {
    ... on ProjectV2Item {
      id
      type
      isArchived
      updatedAt
      project {
        id
        number
        owner { ... on Organization { login } ... on User { login } }
        field(name: "Status") { ... on ProjectV2SingleSelectField { id options { id name } } }
      }
      fieldValueByName(name: "Status") { ... on ProjectV2ItemFieldSingleSelectValue { name optionId } }
      repo: fieldValueByName(name: "Repo") { ... on ProjectV2ItemFieldTextValue { text } }
      priority: fieldValueByName(name: "Priority") { ... on ProjectV2ItemFieldSingleSelectValue { name } }
      content {
        ... on DraftIssue { id title body creator { login } }
        ... on Issue {
          id number title body state stateReason
          author { login }
          labels(first: 50) { nodes { name } }
          assignees(first: 10) { nodes { login } }
          repository { nameWithOwner defaultBranchRef { name } }
          parent { number repository { nameWithOwner visibility } }
          issueDependenciesSummary { blockedBy }
          blockedBy(first: 50) {
            nodes { number title state stateReason repository { nameWithOwner visibility } }
          }
          timelineItems(last: 5, itemTypes: [PROJECT_V2_ITEM_STATUS_CHANGED_EVENT]) {
            nodes {
              ... on ProjectV2ItemStatusChangedEvent {
                status createdAt project { id } actor { __typename login }
              }
            }
          }
        }
        ... on PullRequest {
          id number title body pullState: state isCrossRepository
          author { login }
          repository { nameWithOwner defaultBranchRef { name } }
        }
      }
    }
  }
}
"""

CARDS = """
query Cards($board: ID!, $filter: String!, $after: String) {
  node(id: $board) {
    ... on ProjectV2 {
      items(first: 100, after: $after, query: $filter) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id
          type
          updatedAt
          isArchived
          fieldValueByName(name: "Status") { ... on ProjectV2ItemFieldSingleSelectValue { name } }
          content { ... on Issue { state } }
        }
      }
    }
  }
}
"""

CARDS_OF_ISSUE = """
query CardsOfIssue($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      projectItems(first: 50, includeArchived: false) { nodes { id project { id } } }
    }
  }
}
"""

RENAME_FIELD = """
mutation RenameField($field: ID!, $name: String!) {
  updateProjectV2Field(input: {fieldId: $field, name: $name}) {
    projectV2Field { ... on ProjectV2FieldCommon { id } }
  }
}
"""

TEXTS = """
query Texts($board: ID!, $name: String!, $other: String!, $after: String) {
  node(id: $board) {
    ... on ProjectV2 {
      items(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id
          isArchived
          text: fieldValueByName(name: $name) { ... on ProjectV2ItemFieldTextValue { text } }
          chosen: fieldValueByName(name: $other) { ... on ProjectV2ItemFieldSingleSelectValue { name } }
        }
      }
    }
  }
}
"""

VIEWS = """
query Views($board: ID!) {
  node(id: $board) { ... on ProjectV2 { views(first: 100) { nodes { name } } } }
}
"""

OPTIONS = """
query Options($field: ID!) {
  node(id: $field) {
    ... on ProjectV2SingleSelectField { options { id name color description } }
  }
}
"""

OPTION_OF_CARD = """
query OptionOfCard($card: ID!, $name: String!) {
  node(id: $card) {
    ... on ProjectV2Item {
      fieldValueByName(name: $name) { ... on ProjectV2ItemFieldSingleSelectValue { name } }
    }
  }
}
"""

REPOSITORY_ID = """
query RepositoryId($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { id }
}
"""

DESCRIBE_COLUMNS = """
mutation DescribeColumns($field: ID!, $options: [ProjectV2SingleSelectFieldOptionInput!]!) {
  updateProjectV2Field(input: {fieldId: $field, singleSelectOptions: $options}) {
    projectV2Field { ... on ProjectV2SingleSelectField { id } }
  }
}
"""

MOVE_CARD = """
mutation MoveCard($board: ID!, $card: ID!, $field: ID!, $option: String!) {
  updateProjectV2ItemFieldValue(
    input: {projectId: $board, itemId: $card, fieldId: $field, value: {singleSelectOptionId: $option}}
  ) { projectV2Item { id } }
}
"""

CREATE_FIELD = """
mutation CreateField(
  $board: ID!, $name: String!, $kind: ProjectV2CustomFieldType!
  $options: [ProjectV2SingleSelectFieldOptionInput!]
) {
  createProjectV2Field(
    input: {projectId: $board, name: $name, dataType: $kind, singleSelectOptions: $options}
  ) {
    projectV2Field {
      ... on ProjectV2FieldCommon { id name dataType }
      ... on ProjectV2SingleSelectField { options { id name } }
    }
  }
}
"""

ADD_CARD = """
mutation AddCard($board: ID!, $content: ID!) {
  addProjectV2ItemById(input: {projectId: $board, contentId: $content}) { item { id } }
}
"""

ADD_DRAFT = """
mutation AddDraft($board: ID!, $title: String!, $body: String!) {
  addProjectV2DraftIssue(input: {projectId: $board, title: $title, body: $body}) { projectItem { id } }
}
"""

DELETE_CARD = """
mutation DeleteCard($board: ID!, $card: ID!) {
  deleteProjectV2Item(input: {projectId: $board, itemId: $card}) { deletedItemId }
}
"""

TITLES = """
query Titles($board: ID!, $filter: String!) {
  node(id: $board) {
    ... on ProjectV2 {
      items(first: 100, query: $filter) {
        nodes {
          id
          content {
            ... on DraftIssue { title creator { login } }
            ... on Issue { title author { login } }
          }
        }
      }
    }
  }
}
"""

# Title and GitHub's own fields have values as well, and come with the kinds of these.
VALUES = """
query Values($card: ID!) {
  node(id: $card) {
    ... on ProjectV2Item {
      fieldValues(first: 100) {
        nodes {
          ... on ProjectV2ItemFieldTextValue { text field { ...Kind } }
          ... on ProjectV2ItemFieldNumberValue { number field { ...Kind } }
          ... on ProjectV2ItemFieldDateValue { date field { ...Kind } }
          ... on ProjectV2ItemFieldSingleSelectValue { singleSelectOptionId: optionId field { ...Kind } }
          ... on ProjectV2ItemFieldIterationValue { iterationId field { ...Kind } }
        }
      }
    }
  }
}

fragment Kind on ProjectV2FieldConfiguration {
  ... on ProjectV2FieldCommon { id name dataType }
}
"""

PLACE_CARD = """
mutation PlaceCard($board: ID!, $card: ID!, $after: ID) {
  updateProjectV2ItemPosition(input: {projectId: $board, itemId: $card, afterId: $after}) {
    items(first: 1) { nodes { id } }
  }
}
"""

CONVERT_DRAFT = """
mutation ConvertDraft($card: ID!, $repository: ID!) {
  convertProjectV2DraftIssueItemToIssue(input: {itemId: $card, repositoryId: $repository}) {
    item { content { ... on Issue { id number repository { nameWithOwner } } } }
  }
}
"""

STATUS_UPDATES = """
query StatusUpdates($board: ID!) {
  node(id: $board) { ... on ProjectV2 { statusUpdates(first: 20) { nodes { id creator { login } } } } }
}
"""

POST_STATUS_UPDATE = """
mutation PostStatusUpdate($board: ID!, $body: String!, $status: ProjectV2StatusUpdateStatus!) {
  createProjectV2StatusUpdate(input: {projectId: $board, body: $body, status: $status}) {
    statusUpdate { id }
  }
}
"""

EDIT_STATUS_UPDATE = """
mutation EditStatusUpdate($update: ID!, $body: String!, $status: ProjectV2StatusUpdateStatus!) {
  updateProjectV2StatusUpdate(input: {statusUpdateId: $update, body: $body, status: $status}) {
    statusUpdate { id }
  }
}
"""

MARK_READY = """
mutation MarkReady($pull: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $pull}) { pullRequest { headRefOid } }
}
"""

MARK_DRAFT = """
mutation MarkDraft($pull: ID!) {
  convertPullRequestToDraft(input: {pullRequestId: $pull}) { pullRequest { isDraft } }
}
"""

THREADS = """
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id
          comments(first: 100) { nodes { fullDatabaseId } }
        }
      }
    }
  }
}
"""

RESOLVE_THREAD = """
mutation ResolveThread($thread: ID!) {
  resolveReviewThread(input: {threadId: $thread}) { thread { isResolved } }
}
"""

ADD_SUB_ISSUE = """
mutation AddSubIssue($parent: ID!, $child: ID!) {
  addSubIssue(input: {issueId: $parent, subIssueId: $child}) { subIssue { id } }
}
"""

ADD_BLOCKED_BY = """
mutation AddBlockedBy($blocked: ID!, $blocking: ID!) {
  addBlockedBy(input: {issueId: $blocked, blockingIssueId: $blocking}) { issue { id } }
}
"""

LINKS = """
query Links($issue: ID!) {
  node(id: $issue) { ... on Issue { parent { id } blockedBy(first: 50) { nodes { id } } } }
}
"""

ARCHIVE_CARD = """
mutation ArchiveCard($board: ID!, $card: ID!) {
  archiveProjectV2Item(input: {projectId: $board, itemId: $card}) { item { id } }
}
"""

UNARCHIVE_CARD = """
mutation UnarchiveCard($board: ID!, $card: ID!) {
  unarchiveProjectV2Item(input: {projectId: $board, itemId: $card}) { item { id } }
}
"""

REMOVE_BLOCKED_BY = """
mutation RemoveBlockedBy($blocked: ID!, $blocking: ID!) {
  removeBlockedBy(input: {issueId: $blocked, blockingIssueId: $blocking}) { issue { id } }
}
"""

MERGING = """
query Merging($pull: ID!) {
  node(id: $pull) {
    ... on PullRequest {
      state
      headRefOid
      isInMergeQueue
      isMergeQueueEnabled
      autoMergeRequest { enabledAt }
      repository { autoMergeAllowed }
    }
  }
}
"""

ENQUEUE_PULL = """
mutation EnqueuePull($pull: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: {pullRequestId: $pull, expectedHeadOid: $head}) { mergeQueueEntry { id } }
}
"""

DEQUEUE_PULL = """
mutation DequeuePull($pull: ID!) {
  dequeuePullRequest(input: {id: $pull}) { mergeQueueEntry { id } }
}
"""

ENABLE_AUTO_MERGE = """
mutation EnableAutoMerge(
  $pull: ID!, $head: GitObjectID!, $method: PullRequestMergeMethod!, $title: String, $text: String
) {
  enablePullRequestAutoMerge(
    input: {
      pullRequestId: $pull, expectedHeadOid: $head, mergeMethod: $method
      commitHeadline: $title, commitBody: $text
    }
  ) { pullRequest { id } }
}
"""

DISABLE_AUTO_MERGE = """
mutation DisableAutoMerge($pull: ID!) {
  disablePullRequestAutoMerge(input: {pullRequestId: $pull}) { pullRequest { id } }
}
"""
