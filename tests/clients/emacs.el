;;; A prompt in Emacs, in batch mode: completes, and tells as JSON what came of it.  -*- lexical-binding: t -*-

(require 'json)
(package-initialize)
(load (getenv "SESSIONREF_EL"))
(setq sessionref-command (list (getenv "PROGRAM") "--stdio" "--root" (getenv "ROOT"))
      sessionref-settings '(:files t)
      eglot-sync-connect 30)

(defun line ()
  "The line of point."
  (buffer-substring-no-properties (line-beginning-position) (line-end-position)))

(defun menu ()
  "What *Completions* offers."
  (with-current-buffer "*Completions*"
    (goto-char (point-min))
    (let (found)
      (while (progn (next-completion 1) (get-text-property (point) 'completion--string))
        (push (substring-no-properties
               (let ((shown (get-text-property (point) 'completion--string)))
                 (if (consp shown) (car shown) shown)))
              found)
        (goto-char (or (next-single-property-change (point) 'completion--string) (point-max))))
      (nreverse found))))

(defun type (text)
  "On a line of its own, TEXT and the key for completion."
  (goto-char (point-max))
  (insert "\n" text)
  (call-interactively (key-binding (kbd "C-M-i"))))

(defun pick (label)
  "Choose what *Completions* has as LABEL."
  (let ((prompt (current-buffer)))
    (pop-to-buffer "*Completions*")
    (goto-char (point-min))
    (search-forward label)
    (backward-char)
    (choose-completion)
    (pop-to-buffer prompt)))

(find-file (getenv "PROMPT"))
(markdown-mode)
(sessionref-ensure)
(apply #'eglot (eglot--guess-contact)) ; in batch mode there is no idle time to wait for

(let (told)
  (cl-flet ((tell (name value) (push (cons name value) told)))
    (type "😀 see @Fix log")
    (tell 'sole (line))
    (type "@o")
    (tell 'several (apply #'vector (menu)))
    (pick "Other")
    (tell 'picked (line))
    (type "@nothing like it")
    (tell 'nothing (line))
    (type "@src/de")
    (pick "src/deep/")
    (tell 'folder (line))
    (sit-for 0.1) ; the timer that goes on below the folder
    (tell 'below (line))
    (tell 'copied (cl-letf (((symbol-function 'completing-read)
                             (lambda (_ named &rest _) (caar named))))
                    (sessionref-copy-reference)
                    (current-kill 0)))
    (eglot-execute-command nil 'sessionref.preview [(:sessionId "login")])
    (tell 'preview (with-current-buffer "*sessionref*" (buffer-string)))
    (type "@[x](dsh-session:!!)")
    (tell 'refused (condition-case failure (sessionref-expand) (user-error (cadr failure))))
    (delete-region (line-beginning-position) (point-max))
    (sessionref-expand)
    (tell 'expanded (buffer-string)))
  (let ((coding-system-for-write 'utf-8))
    (write-region (json-encode told) nil (getenv "TOLD"))))
