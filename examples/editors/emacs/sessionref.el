;;; sessionref.el --- `@' completion of agent sessions in prompts, through Eglot  -*- lexical-binding: t -*-

;; Needs Emacs 28 with Eglot 1.9 or newer (Emacs 29 has Eglot built in).
;;
;;   (load "/path/to/sessionref.el")
;;   (add-hook 'markdown-mode-hook #'sessionref-ensure)
;;
;; Then type @ and some words of a session's title, and press C-M-i, or let company or corfu pop up by
;; themselves.  `sessionref-expand' appends the snapshots below the message; send the buffer as you
;; do anyway, for instance with `shell-command-on-region'.  `sessionref-copy-reference' puts a mention
;; into the kill ring.
;;
;; ElDoc shows the session at point.  Errors show as Flymake diagnostics, with `eglot-code-actions'
;; to mend them, and in the echo area; `eglot-events-buffer' has the rest.

;;; Code:

(require 'eglot)
(require 'subr-x)

(defcustom sessionref-command '("sessionref" "--stdio")
  "How to start the language server."
  :type '(repeat string)
  :group 'eglot)

(defcustom sessionref-settings nil
  "What the server is started with, as a property list: (:files t :agentId \"…\")."
  :type 'plist
  :group 'eglot)

(defun sessionref--contact (&rest _)
  "How Eglot reaches the server."
  (append sessionref-command
          (and sessionref-settings (list :initializationOptions sessionref-settings))))

(add-to-list 'eglot-server-programs
             '((markdown-mode gfm-mode text-mode) . sessionref--contact))

(define-minor-mode sessionref-mode
  "Complete agent sessions behind an @."
  :keymap (let ((map (make-sparse-keymap)))
            ;; which is what C-M-i does in text modes
            (define-key map [remap ispell-complete-word] #'completion-at-point)
            map)
  (if sessionref-mode
      (add-hook 'completion-at-point-functions #'sessionref-completion-at-point -10 t)
    (remove-hook 'completion-at-point-functions #'sessionref-completion-at-point t)))

(defun sessionref-ensure ()
  "Complete sessions behind an @ in this buffer."
  (add-hook 'eglot-managed-mode-hook #'sessionref--managed)
  (eglot-ensure))

(defun sessionref--managed ()
  "Ask for sessions before asking for anything else, where the server has any."
  (sessionref-mode (if (and (eglot-managed-p) (sessionref--server)) 1 -1)))

(defun sessionref--server ()
  "The server of this buffer, if it is sessionref."
  (when-let ((server (eglot-current-server)))
    (and (eglot--server-capable :experimental :sessionReference) server)))

(defun sessionref--request (method params)
  "Ask the server for METHOD with PARAMS.  What goes wrong is told in its words."
  (condition-case failure
      (jsonrpc-request (or (sessionref--server) (user-error "This buffer has no sessionref"))
                       method params)
    (jsonrpc-error
     (user-error "sessionref: %s" (alist-get 'jsonrpc-error-message (cddr failure))))))

;; Completion.  Eglot's own function completes symbols; what is typed behind an @ may hold spaces.
;; Which sessions are offered for it is the server's business, so there is a style that takes them all.

(add-to-list 'completion-styles-alist
             '(sessionref sessionref--try sessionref--all "What the server offers for the text."))
(add-to-list 'completion-category-defaults '(sessionref (styles sessionref)))

(defun sessionref--all (_text table predicate _point)
  "All that TABLE has."
  (all-completions "" table predicate))

(defun sessionref--try (text table predicate point)
  "The only one that TABLE has, or TEXT as it is."
  (let ((all (all-completions "" table predicate)))
    (cond ((null all) nil)
          ((member text all) t)
          ((cdr all) (cons text point))
          (t (cons (car all) (length (car all)))))))

(defun sessionref--items ()
  "What is offered at point: each item by its label, which is made unlike the others."
  (eglot--signal-textDocument/didChange)
  (let ((answer (jsonrpc-request (sessionref--server) :textDocument/completion
                                 (eglot--CompletionParams)))
        named)
    (dolist (item (append (plist-get answer :items) nil) (nreverse named))
      (let* ((label (plist-get item :label)) (unlike label) (number 1))
        (while (assoc unlike named)
          (setq unlike (format "%s #%d" label (setq number (1+ number)))))
        (push (cons unlike item) named)))))

(defun sessionref--detail (item)
  "What stands beside the label of ITEM."
  (let ((details (plist-get item :labelDetails)))
    (concat " " (or (plist-get item :detail)
                    (concat (plist-get details :description) (plist-get details :detail))))))

(defun sessionref-completion-at-point ()
  "Sessions for the @ before point."
  (when-let* ((sign (and (sessionref--server)
                         (save-excursion (search-backward "@" (line-beginning-position) t))))
              (named (sessionref--items)))
    (pcase-let* ((edit (plist-get (cdar named) :textEdit))
                 (`(,start . ,end) (eglot--range-region (plist-get edit :range)))
                 (typed (buffer-substring-no-properties start end)))
      (list start end
            (lambda (text predicate action)
              (let ((now (buffer-substring-no-properties start (max start (point)))))
                (unless (or (eq action 'metadata) (equal now typed) (assoc now named))
                  (setq typed now
                        named (sessionref--items))))
              (pcase action
                ('metadata '(metadata (category . sessionref)
                                      (display-sort-function . identity)
                                      (cycle-sort-function . identity)))
                ('t (all-completions "" named predicate))
                ('lambda (assoc text named))
                ('nil (if (assoc text named) t text))))
            :exclusive 'yes
            :annotation-function (lambda (label) (sessionref--detail (cdr (assoc label named))))
            :exit-function
            (lambda (label _status)
              (when-let ((item (cdr (assoc label named))))
                (sessionref--insert label (plist-get (plist-get item :textEdit) :newText))))))))

(defun sessionref--insert (label text)
  "Put TEXT in place of the LABEL before point; below a folder, go on."
  (delete-region (- (point) (length label)) (point))
  (insert text)
  (when (string-suffix-p "/" text)
    (run-with-timer 0 nil #'completion-at-point)))

;; Commands

(defun sessionref-expand ()
  "Append the snapshots of the sessions that this buffer refers to."
  (interactive)
  (eglot--signal-textDocument/didChange)
  (let ((eglot-confirm-server-initiated-edits nil)) ; it was asked for
    (sessionref--execute "sessionref.expand" (eglot--TextDocumentIdentifier))))

(defun sessionref-copy-reference ()
  "Put the mention of a session into the kill ring."
  (interactive)
  (let* ((agent (list :id (or (plist-get sessionref-settings :agentId) "")
                      :cwd (directory-file-name (expand-file-name default-directory))))
         (found (sessionref--request :sessionReference/listCandidates (list :agent agent)))
         (named (mapcar (lambda (each)
                          (cons (format "%s  %s" (plist-get (plist-get each :display) :label)
                                        (plist-get each :sessionId))
                                (plist-get each :sessionId)))
                        (plist-get found :candidates)))
         (chosen (completing-read "Copy a reference to: " named nil t)))
    (kill-new (sessionref--execute "sessionref.copyReference"
                                   (list :sessionId (cdr (assoc chosen named)))))
    (message "%s" (current-kill 0))))

(defun sessionref--execute (command argument)
  "Have the server run COMMAND with ARGUMENT."
  (sessionref--request :workspace/executeCommand
                       (list :command command :arguments (vector argument))))

(cl-defmethod eglot-execute-command (_server (_ (eql sessionref.preview)) arguments)
  "Show what a model would see, where the server can not have it shown itself.
ARGUMENTS are the command's."
  (let ((text (sessionref--execute "sessionref.preview" (aref arguments 0))))
    (when (stringp text)
      (with-current-buffer (get-buffer-create "*sessionref*")
        (let ((inhibit-read-only t))
          (erase-buffer)
          (insert text)
          (goto-char (point-min)))
        (special-mode)
        (display-buffer (current-buffer))))))

(provide 'sessionref)
;;; sessionref.el ends here
